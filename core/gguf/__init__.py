"""GGUF files: the header (metadata and tensor table) in, made-up headers out; tensor data is never read."""
