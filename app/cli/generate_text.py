"""What `galloscope generate` prints: a line per token as it comes, then how fast it was and where the time went."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import printable
from ...core.explain.sentence import count
from ...core.gguf.values import LazyArray
from ..figures.run_words import number_text, seconds_text, share_text
from .table import table

if TYPE_CHECKING:
    from ...core.execute.generate import Step
    from ...core.llama.options import Options
    from ...core.native.observe import Step as Theirs

PIECES = "tokenizer.ggml.tokens"
_WIDTHS = (5, 8, 20, 10, 10, 10)
_PIECE = 2
_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")
"""A byte that is no UTF-8, as Python's surrogate escapes write it."""


@dataclass(frozen=True, slots=True)
class Told:
    """One step.

    Attributes:
        number: from 0.
        token: the choice.
        piece: what the vocabulary writes for it, "" when that is not known.
        logit: of the choice.
        margin: how far the second best logit is below it.
        seconds: the step took.
        theirs: what llama.cpp chose; None when it was not asked.
        difference: the largest difference of a logit from llama.cpp's.
        their_margin: by how much llama.cpp preferred its choice.
    """

    number: int
    token: int
    piece: str
    logit: float
    margin: float
    seconds: float
    theirs: int | None = None
    difference: float = 0.0
    their_margin: float = 0.0

    @classmethod
    def of(cls, number: int, step: Step, pieces: Pieces, theirs: Theirs | None) -> Told:
        """From what was computed and, when there is one, llama.cpp's step."""
        logit, margin = float(step.logits[step.token]), margin_of(step.logits, step.token)
        piece = pieces.of(step.token)
        if theirs is None:
            return cls(number, step.token, piece, logit, margin, step.seconds)
        difference = float(np.max(np.abs(step.logits - theirs.logits)))
        their_margin = margin_of(theirs.logits, theirs.token)
        return cls(number, step.token, piece, logit, margin, step.seconds, theirs.token, difference, their_margin)


class Pieces:
    """The vocabulary, as far as the file has one."""

    def __init__(self, known: Sequence[object]) -> None:
        """Of the metadata."""
        self.known = known

    def of(self, token: int) -> str:
        """What a token writes, on one line; quoted where it would not be seen."""
        if token >= len(self.known):
            return ""
        text = shown_piece(str(self.known[token]))
        return text if len(text) <= _WIDTHS[_PIECE] else text[: _WIDTHS[_PIECE] - 1] + "…"


def shown_piece(text: str) -> str:
    r"""A piece as it is, or in quotes and escaped where it is empty, has spaces around it or what cannot be shown.

    >>> print(shown_piece("the"), shown_piece("\n"), shown_piece(" "), shown_piece("\udcff"))
    the '\n' ' ' '\xff'
    """
    if text and text.isprintable() and text == text.strip():
        return text
    return _BYTE.sub(r"\\x\1", repr(text))


def token_pieces(metadata: Mapping[str, Any]) -> Pieces:
    """The vocabulary of a model."""
    found = metadata.get(PIECES, ())
    if isinstance(found, LazyArray):
        return Pieces(found.read(errors="surrogateescape"))
    return Pieces(found if isinstance(found, tuple) else ())


def margin_of(logits: Any, token: int) -> float:
    """How far the best of the others is below a token's logit."""
    if len(logits) < 2:
        return 0.0
    first, second = np.partition(logits, -2)[:-3:-1]
    return float(logits[token] - (second if logits[token] == first else first))


@dataclass(slots=True)
class Total:
    """What all steps add up to.

    Attributes:
        prompt: its tokens.
        guard: the owner of every byte was checked; whoever found an overlap ended the run.
        poison: bytes that hold nothing were filled with NaN.
        steps: one a token.
        ops: seconds by kind of op.
        wrong: numbers of the steps with logits that are no finite numbers.
    """

    prompt: int
    guard: bool = False
    poison: bool = False
    steps: list[Told] = field(default_factory=list)
    ops: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    wrong: list[int] = field(default_factory=list)

    def add(self, told: Told, step: Step) -> None:
        """One more step."""
        self.steps.append(told)
        if not np.isfinite(step.logits).all():
            self.wrong.append(told.number)
        tensors = step.execution.state.tensors
        for one in step.execution.nodes:
            self.ops[tensors[one.node].op.value] += one.seconds

    @property
    def differing(self) -> list[Told]:
        """Steps whose choice is not llama.cpp's."""
        return [one for one in self.steps if one.theirs is not None and one.theirs != one.token]

    @property
    def decode_seconds(self) -> float:
        """Of the steps after the prompt."""
        return sum(one.seconds for one in self.steps[1:])


def head(pieces: Pieces, *, compared: bool) -> str:
    """The line above the tokens."""
    text = _row(("step", "token", "piece", "logit", "margin", "time"), pieces)
    return f"{text}  llama.cpp  difference" if compared else text


def line(told: Told, pieces: Pieces) -> str:
    """One token."""
    cells = (str(told.number), str(told.token), told.piece, number_text(told.logit), number_text(told.margin))
    text = _row((*cells, seconds_text(told.seconds)), pieces)
    if told.theirs is None:
        return text
    other = "same" if told.theirs == told.token else f"{told.theirs} !"
    return f"{text}  {other:<9}  {number_text(told.difference)}"


def _row(cells: tuple[str, ...], pieces: Pieces) -> str:
    """Columns of fixed width, as the rows to come are not known; no pieces in a model without a vocabulary."""
    return "  ".join(
        cell.ljust(width) if k == _PIECE else cell.rjust(width)
        for k, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
        if k != _PIECE or pieces.known
    )


def summary(total: Total) -> str:
    """Speed, llama.cpp's verdict, time by op."""
    lines = [printable(sentence) for sentence in _sentences(total)]
    whole = sum(total.ops.values())
    rows = [
        (op, seconds_text(seconds), share_text(seconds, whole))
        for op, seconds in sorted(total.ops.items(), key=lambda pair: -pair[1])
    ]
    return "\n".join(lines) + "\n\n" + table(("op", "time", "share"), rows, right=(1, 2))


def _sentences(total: Total) -> list[str]:
    first, rest = total.steps[0], len(total.steps) - 1
    told = [f"prompt of {count(total.prompt, 'token')}: {seconds_text(first.seconds)}"]
    if rest:
        speed = rest / total.decode_seconds if total.decode_seconds else 0.0
        told.append(f"{count(rest, 'token')} after it: {seconds_text(total.decode_seconds)}, {speed:.3g} tokens/s")
    if first.theirs is not None:
        wrong = total.differing
        most = max(one.difference for one in total.steps)
        same = len(total.steps) - len(wrong)
        steps = count(len(total.steps), "token")
        text = f"{same} of {steps} as llama.cpp chooses them, logits within {number_text(most)}"
        if wrong:
            one = wrong[0]
            text += f"; first other at step {one.number}, where llama.cpp's margin is {number_text(one.their_margin)}"
        told.append(text)
    return [*told, *_verdicts(total)]


def _verdicts(total: Total) -> list[str]:
    """Of the checks, in the words of `galloscope run`."""
    if total.wrong:
        told = f"! logits that are no numbers in {count(len(total.wrong), 'step')}, first in step {total.wrong[0]}"
        return [told, *([_sound(total)] if total.guard else [])]
    if total.guard:
        return [_sound(total) + ("; no poison reached a logit" if total.poison else "")]
    return ["No poison: nothing that was freed or never written reached a logit"] if total.poison else []


def _sound(total: Total) -> str:
    steps = count(len(total.steps), "step")
    return f"Sound: in every graph of {steps} every byte read was still its owner's"


def numbers(total: Total, options: Options) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "prompt": total.prompt,
        "n_ctx": options.n_ctx,
        "flash_attn": options.flash_attn.value,
        "tokens": [one.token for one in total.steps],
        "steps": [
            {
                "token": one.token,
                "piece": one.piece,
                "logit": one.logit,
                "margin": one.margin,
                "seconds": one.seconds,
                **(
                    {}
                    if one.theirs is None
                    else {"llama": one.theirs, "difference": one.difference, "llama_margin": one.their_margin}
                ),
            }
            for one in total.steps
        ],
        "ops": dict(total.ops),
        "poison": total.poison,
        "guard": {"sound": True} if total.guard else None,
        "equal": None if total.steps[0].theirs is None else not total.differing,
    }
