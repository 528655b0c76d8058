"""The state in words and sums: what a person asks of it. Pure functions of a `State`."""
