"""Where the process of llama.cpp would end."""


class ProcessEnd(Exception):
    """llama.cpp or ggml ends the process here; the message is its text."""
