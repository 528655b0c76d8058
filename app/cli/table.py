"""Plain aligned columns for the terminal."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ...core.errors import printable


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """Lines with two spaces between columns; columns in `right` are right-aligned. What is not printable is replaced.

    >>> print(table(("name", "size"), [("a", "12"), ("bcd", "3")], right=(1,)))
    name  size
    a       12
    bcd      3
    """
    lines = [[printable(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(widths[k]) if k in right else cell.ljust(widths[k]) for k, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )
