"""Sentences with parts a reader's eye should catch, and the evidence they stand on."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence about a run.

    Attributes:
        topic: a short key, stable for tests and links: peak, splits, placed ...
        markup: the sentence; **key numbers** and `names` are marked as in Markdown.
        tensor: the tensor that is the evidence, -1 for none.
        split: the split that is the evidence, -1 for none.
        alarm: it names something wrong.
    """

    topic: str
    markup: str
    tensor: int = -1
    split: int = -1
    alarm: bool = False

    @property
    def text(self) -> str:
        """Without the marks.

        >>> Sentence("x", "**3** splits at `a`").text
        '3 splits at a'
        """
        return "".join(f"'{part}'" if style == "name" and part != part.strip() else part for part, style in self.parts)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """(text, style) pieces; style is "", "strong" or "name"."""
        found = []
        for piece in re.split(r"(\*\*.+?\*\*|`[^`]*`)", self.markup):
            if piece.startswith("**") and len(piece) > 4:
                found.append((piece[2:-2], "strong"))
            elif piece.startswith("`") and len(piece) > 1:
                found.append((piece[1:-1].replace("\u02cb", "`"), "name"))
            elif piece:
                found.append((piece, ""))
        return found


def name(text: str) -> str:
    """A tensor's name as markup; a backtick in it would end the mark, so a look-alike stands in for it."""
    return "`" + text.replace("`", "\u02cb") + "`"


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> count(1, "split"), count(3, "split"), count(2, "copy", "copies")
    ('1 split', '3 splits', '2 copies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
