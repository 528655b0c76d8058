"""What fills a graph: weights of a GGUF, random numbers, `.npy` files, the inputs of a batch of tokens."""
