"""Names that are unique in a graph: llama.cpp's own for the first tensor that has it, then `NAME~2`, `NAME~3`."""

from __future__ import annotations

from collections.abc import Iterable

from ..tensor import MAX_NAME

_FORBIDDEN = str.maketrans('"\\#', "___")
_VIEW = " (view)"


def unique_names(real: Iterable[str]) -> list[str]:
    """The unique name for each real one, in order.

    `X (view)` is also what the scheduler calls its own dependency node on X; that counts as the first of the name, so
    no tensor of a graph ends in ` (view)`. A name and its number fit in ggml's 63 bytes.

    >>> unique_names(["norm-0", "norm-0", "Qcur-0 (view)", "a#b"])
    ['norm-0', 'norm-0~2', 'Qcur-0 (view)~2', 'a_b']
    """
    count: dict[str, int] = {}
    used: set[str] = set()
    names = []
    for name in real:
        clean = _printable(name).translate(_FORBIDDEN) or "unnamed"
        n = count.get(clean, 1 if clean.endswith(_VIEW) else 0)
        while True:
            n += 1
            suffix = f"~{n}" if n > 1 else ""
            unique = _cut(clean, MAX_NAME - 1 - len(suffix)) + suffix
            if unique not in used:
                break
        count[clean] = n
        used.add(unique)
        names.append(unique)
    return names


def _printable(name: str) -> str:
    return name if name.isprintable() else "".join(c if c.isprintable() else "_" for c in name)


def _cut(name: str, room: int) -> str:
    """The name in at most so many bytes of UTF-8, never in the middle of a character."""
    return name if len(name.encode()) <= room else name.encode()[:room].decode(errors="ignore")
