"""What llama.cpp adds to ggml: options, weights on devices, caches; from a GGUF header to a problem for the engine."""
