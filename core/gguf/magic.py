"""Is a file a GGUF? Asked of any path a user names, so it waits for nothing and reads four bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAGIC = b"GGUF"


def is_gguf(path: str | Path) -> bool:
    """Whether a regular file begins with GGUF's magic; False for what cannot be read.

    A pipe that nobody writes to is not opened: it would hang the reader.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False
