"""What of llama.cpp's log a user should know: its warnings, and what it settled by itself."""

from __future__ import annotations

import re

from ..llama.options import FlashAttn, Options
from .log import INFO, WARN, plain
from .messages import Answer

MOST = 12
_OURS = re.compile(r"dummy tokens|no_vocab|tokenizer|vocab|special_|EOG|token type")
"""Warnings about the vocabulary that was left out on purpose."""
_TELLING = re.compile(r"n_ctx_seq \(\d+\) <|pipeline parallelism enabled|enabling flash_attn since")
"""Lines of level info that are worth as much."""


def notes(answer: Answer, options: Options) -> tuple[str, ...]:
    """Sentences, each once, in llama.cpp's words."""
    found = []
    for level, line in answer.log:
        if (level == WARN and not _OURS.search(line)) or (level == INFO and _TELLING.search(line)):
            found.append(f"llama.cpp: {plain(line)}")
    pinned = {buft.name for buft in answer.bufts if buft.host and buft.device != "CPU"}
    moved = sorted(pinned & {buft for _, buft in answer.weights})
    if moved:
        found.append(
            f"weights on the CPU lie in {moved[0]}, as with --load-mode none; where llama.cpp maps the file, its "
            "default, they are CPU_Mapped and take the same bytes"
        )
    if answer.flash_off and options.flash_attn is FlashAttn.OFF:
        found.append("flash attention is off, as llama.cpp settled it")
    return tuple(dict.fromkeys(found))[:MOST]
