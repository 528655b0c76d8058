"""ggml_backend_sched: which backend runs every op, where the graph is cut, what is copied. Source: ggml-backend.cpp."""
