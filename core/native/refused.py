"""The one exception of the child process that stands for a sentence to the user."""


class Refused(Exception):
    """llama.cpp, or what is asked of it, does not allow this; the message is a sentence."""
