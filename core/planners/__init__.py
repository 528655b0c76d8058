"""Static planners: buffers with known lifetimes get addresses, and proof of how good the plan is."""
