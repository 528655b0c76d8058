"""What a device supports, and the reason when it refuses."""
