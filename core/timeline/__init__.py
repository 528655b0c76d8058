"""The simulated timeline: when each device would compute, copy and wait, with clocks instead of hardware."""
