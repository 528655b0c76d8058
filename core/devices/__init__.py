"""What a device supports, and the reason when it refuses. The profiles are imported when one is named, see `known`."""
