"""Inner loops of the planners: plain loops over flat columns, compiled when numba is there."""
