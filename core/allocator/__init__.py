"""ggml_gallocr: where every tensor's bytes lie. Source: ggml-alloc.c."""
