"""What can go wrong, as one family of errors.

::

    GalloscopeError
    ├── InputError      a file, a key or a number that the user gave is not usable: says what, where and what to do
    └── GgmlAbort       real ggml would stop the process here; the text is ggml's own. Recorded, never shown as a crash

``app.cli.main`` alone turns an InputError into a sentence and an exit code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GalloscopeError(Exception):
    """Base of all errors that are not a bug of galloscope."""


class InputError(GalloscopeError):
    """Something the user gave cannot be used; the message is one sentence with the place and the way out.

    What the message echoes comes from files of any kind: a long one is cut in the middle.
    """

    def __init__(self, message: str) -> None:
        """Keep at most some 400 characters, on one line."""
        line = printable(" ".join(message.split("\n")))
        super().__init__(line if len(line) <= 420 else f"{line[:300]} ... {line[-100:]}")


class GgmlAbort(GalloscopeError):
    """A GGML_ASSERT or GGML_ABORT of real ggml; the message is ggml's own text."""


def printable(text: str) -> str:
    r"""The text with every character that cannot be shown replaced; what is not UTF-8 in a file's name too.

    >>> printable("a\x00b\udcff")
    'a\ufffdb\ufffd'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word closest to `word`, or an empty string.

    >>> nearest("ouputs", ["outputs", "tensors"])
    " (did you mean 'outputs'?)"
    """
    found = difflib.get_close_matches(word, list(known), 1, 0.6)
    return f" (did you mean {found[0]!r}?)" if found else ""
