"""Running ops: kernels over an array module, and the memory that one kind of device gives them."""
