"""The bars of a session's picture: one per ubatch, runs of re-used ones folded into one, too many put together."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...core.decode.life import Life
from ..figures.session import REUSED, kind_of

MOST_BARS = 320
"""More would be narrower than an eye can tell apart."""
MOST_WIDTH = 7.0
"""A folded run is at most so many times as wide as one ubatch."""


class Bar(NamedTuple):
    """Ubatches that are drawn as one.

    Attributes:
        first: number of the first.
        last: of the last.
        kind: what became of them, the worst; see `app.figures.session.kind_of`.
        tokens: the most of them has.
        n_kv: cells that attention sees, of the last.
        n_kv_swa: likewise in window layers.
        since: ubatch since which the addresses of the last have held.
        width: in units; 1 for a ubatch alone.
    """

    first: int
    last: int
    kind: int
    tokens: int
    n_kv: int
    n_kv_swa: int
    since: int
    width: float

    @property
    def ubatches(self) -> int:
        """Ubatches in it."""
        return self.last - self.first + 1


def bars_of(life: Life, most: int = MOST_BARS) -> list[Bar]:
    """All ubatches in order, at most `most` bars.

    Folding hides nothing: a re-used graph has the tokens, cells and addresses of the one before.
    """
    made: list[Bar] = []
    for one in life.ubatches:
        kind = kind_of(one)
        tokens, seen = one.ubatch.n_tokens, one.seen
        bar = Bar(one.number, one.number, kind, tokens, seen.n_kv, seen.n_kv_swa, one.address_since, 1.0)
        if made and kind == REUSED == made[-1].kind:
            bar = _joined([made.pop(), bar])
        made.append(bar)
    step = math.ceil(len(made) / most) if made else 1
    return made if step == 1 else [_joined(made[at : at + step]) for at in range(0, len(made), step)]


def _joined(bars: list[Bar]) -> Bar:
    first, last = bars[0], bars[-1]
    count = last.last - first.first + 1
    return last._replace(
        first=first.first,
        kind=max(bar.kind for bar in bars),
        tokens=max(bar.tokens for bar in bars),
        width=min(MOST_WIDTH, 1 + math.log2(count) / 1.5),
    )


def put_together(bars: list[Bar]) -> int:
    """The most ubatches that are not all re-used and share a bar; 1 where none do."""
    return max((bar.ubatches for bar in bars if bar.kind != REUSED), default=1)
