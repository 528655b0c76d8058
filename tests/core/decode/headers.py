"""The headers of the models that the recorded sessions decode."""

from functools import cache

from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import read_header
from galloscope.tests.corpora import GOLDEN


@cache
def header_of(model_file_name: str) -> Header:
    """The header by the name that a script gives as its `model`, such as `llama_4l.gguf`."""
    return read_header(GOLDEN / "models" / model_file_name)
