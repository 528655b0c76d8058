"""Galloscope shows why ggml and llama.cpp put every op on its device and every tensor at its address."""

__version__ = "0.1.0"
