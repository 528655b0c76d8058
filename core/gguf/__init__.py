"""GGUF files: the header (metadata and tensor table) in, made-up headers out; the data as maps, to run a graph with."""
