"""What the labels of the scheduler mean, in one place: ggml's cause codes, and the passes that write them."""

from __future__ import annotations

import re

from ...core.events import WEIGHT_CAUSES, Cause, PassName
from .palette import CAUSE_ENTRIES, cause_index

PASS_WORDS = {
    PassName.PINS: ("0", "pins", "pins", "What the application pinned with ggml_backend_sched_set_tensor_backend."),
    PassName.FACTS: ("1", "facts", "facts", "Ops go where their data or weights lie, inputs to the last backend."),
    PassName.GPU_DOWN: (
        "2", "gpu down", "GPUs down", "Down the graph, a GPU takes neighbours without a device that it supports."
    ),
    PassName.GPU_UP: ("2", "gpu up", "GPUs up", "Up the graph, each GPU takes what it did not reach on the way down."),
    PassName.REST_DOWN: (
        "2", "rest down", "the rest down", "Down the graph again, now the CPU's neighbourhood may spread too."
    ),
    PassName.REST_UP: ("2", "rest up", "the rest up", "Up the graph, the CPU's neighbourhood too."),
    PassName.BEST: (
        "3", "best", "best", "An open op goes to the device that reads most of its sources; others move up."
    ),
    PassName.FOLLOW: ("4", "follow", "follow", "Views follow their base, leafs their first user."),
    PassName.SPLIT: (
        "5", "split", "split", "The graph is cut where the device changes; tensors that cross a cut are copied."
    ),
}  # fmt: skip
"""Per pass: its number, its name on a button, its name in a title, and what it does."""

CAUSES: dict[Cause, tuple[str, str]] = {
    Cause.USR: (
        "pinned by the application",
        "Pass 0: the application pinned it to this device with ggml_backend_sched_set_tensor_backend.",
    ),
    Cause.DST: ("its own bytes lie there", "Pass 1: its own bytes, or those of its base, already lie on this device."),
    Cause.INP: ("a graph input starts on the last backend", "Pass 1: an input of the graph starts on the CPU."),
    Cause.OFF: (
        "op offload of a host weight",
        "Pass 1: its weight is in host memory, but a GPU offered to take over such a large batch.",
    ),
    Cause.SUP: (
        "took its neighbour's device",
        "Pass 2: it took the device of its neighbour in the order of execution.",
    ),
    Cause.BEST: (
        "the device that reads most of its sources",
        "Pass 3: no neighbour's device could run it, so the one that can read most of its sources does.",
    ),
    Cause.UPG: (
        "upgraded to a device of higher priority",
        "Pass 3: moved to a device of higher priority that uses the same buffers and can read each source.",
    ),
    Cause.VSRC: ("a view follows its base", "Pass 4: a view is where the tensor is that it looks at."),
    Cause.CUR: ("follows its first user", "Pass 4: it had no device of its own, so it got that of its first user."),
    Cause.CPY: ("a copy of a split input", "Pass 5: a copy of a tensor that its split's device cannot read in place."),
    Cause.LEAF_CPY: (
        "a pipeline copy of an input",
        "Pass 6: one of the copies of a graph input, so that several batches can be in flight.",
    ),
}
"""Per cause: a few words for a list, and one plain sentence for a tooltip."""

_WEIGHT = ("runs where its weight lies", "Pass 1: it runs on the device where its weight (source {slot}) lies.")
_CODE = re.compile(
    r"(?<![\w.-])(usr|1\.(?:dst|inp|off|wgt\d)|2\.sup|3\.(?:best|upg)|4\.(?:vsrc|cur|cpy)|6\.cpy)(?![\w.-])"
)
GLOSSARY_WEIGHT = "1.wgtN"


def cause_words(cause: Cause) -> str:
    """The meaning of one of ggml's cause labels, in a few words.

    >>> cause_words(Cause.WGT0)
    'runs where its weight lies'
    """
    return CAUSES.get(cause, _WEIGHT)[0]


def cause_sentence(cause: Cause) -> str:
    """The meaning of a cause as a sentence.

    >>> cause_sentence(Cause.WGT1)
    'Pass 1: it runs on the device where its weight (source 1) lies.'
    """
    return CAUSES[cause][1] if cause in CAUSES else _WEIGHT[1].format(slot=cause.value[-1])


def cause_titles() -> dict[str, str]:
    """A tooltip for every code."""
    return {cause.value: cause_sentence(cause) for cause in Cause}


def cause_codes() -> list[list[str]]:
    """The codes that each entry of the palette stands for."""
    found: list[list[str]] = [[] for _ in CAUSE_ENTRIES]
    for cause in Cause:
        if cause not in WEIGHT_CAUSES[2:]:
            found[cause_index(cause.value)].append(cause.value)
    return found


def glossary() -> list[tuple[str, str]]:
    """Every code once, in the order of the passes; the weights share a row."""
    rows: list[tuple[str, str]] = []
    for cause in Cause:
        if cause not in WEIGHT_CAUSES:
            rows.append((cause.value, cause_sentence(cause)))
        elif cause is WEIGHT_CAUSES[0]:
            rows.append((GLOSSARY_WEIGHT, _WEIGHT[1].format(slot="N")))
    return rows


def with_codes(text: str) -> list[tuple[str, str]]:
    """A text cut at its cause codes: (piece, tooltip), "" for what is no code.

    >>> with_codes("On GPU0 (2.sup): yes")[1][0]
    '2.sup'
    """
    return [
        (piece, cause_sentence(Cause(piece)) if i % 2 else "") for i, piece in enumerate(_CODE.split(text)) if piece
    ]


def pass_title(name: PassName) -> str:
    """The one title of a pass, ggml's own name behind it where that is another.

    >>> pass_title(PassName.GPU_DOWN), pass_title(PassName.FACTS)
    ('pass 2, GPUs down (2.gpu_down)', 'pass 1, facts')
    """
    number, _, title, _ = PASS_WORDS[name]
    return f"pass {number}, {title}" + ("" if name.value == number else f" ({name.value})")
