"""The math of each op: contiguous arrays in, a contiguous array out. `known.py` lists them."""
