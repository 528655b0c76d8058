"""What `-ot` patterns catch, while they are typed, as plain data for the panel."""

from __future__ import annotations

from typing import Any

from ...core.errors import InputError
from ...core.llama.flags import MAX_OVERRIDES
from ...core.llama.matches import Caught, matches
from ...core.llama.open import TracedModel
from ...core.llama.options import Override

MOST_NAMED = 12
"""Names told per pattern."""


def pattern_matches(model: TracedModel | None, asked: object) -> dict[str, Any]:
    """An answer per override, in order.

    Args:
        model: what was opened; None for a graph file.
        asked: a list of [pattern, buffer type], as it came from a browser.

    Raises:
        InputError: it is no such list, or the file is no model.
    """
    if model is None:
        raise InputError("this file is a graph: its weights are where they are")
    if not isinstance(asked, list) or len(asked) > MAX_OVERRIDES or not all(map(_is_pair, asked)):
        raise InputError(f"expected up to {MAX_OVERRIDES} pairs of a pattern and a buffer type")
    read = [_read(pattern, buft) for pattern, buft in asked]
    good = [one for one in read if isinstance(one, Override)]
    found = iter(matches(model.header, model.taken.options, good))
    return {"matches": [_plain(next(found) if isinstance(one, Override) else one) for one in read]}


def _read(pattern: str, buft: str) -> Override | InputError:
    """The pair as llama.cpp would read it from `-ot PATTERN=BUFFER TYPE`, which cuts at commas and the first `=`."""
    for letter in ",=":
        if letter in pattern:
            return InputError(f"a pattern of -ot cannot hold {letter!r}: llama.cpp cuts the text there")
    return Override(pattern, buft)


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)


def _plain(one: Caught | InputError) -> dict[str, Any]:
    if isinstance(one, InputError):
        return {"error": str(one)}
    return {
        "count": len(one.names),
        "names": one.names[:MOST_NAMED],
        "taken": one.taken,
        "moves": [{"from": move.before, "to": move.after, "bytes": move.bytes} for move in one.moves],
    }
