"""The engine: it decides what ggml decides and records each decision with its reason. It knows no screen."""
