"""Independent checks of a plan; nothing here shares code with the allocator."""
