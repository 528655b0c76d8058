"""Sessions to begin with: what people do with llama.cpp most, each for any model, each with its lesson."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from ..errors import InputError, nearest
from .script import ContextGiven, DeviceGiven, Group, ModelGiven, Script, Step


class Preset(NamedTuple):
    """A kind of session.

    Attributes:
        title: in a few words.
        teaches: what to look for in it, a sentence.
        make: (file name of the model, number of its layers) -> the script.
    """

    title: str
    teaches: str
    make: Callable[[str, int], Script]


def make_preset(name: str, model: str, n_layer: int = 2) -> Script:
    """The script of a preset, named and explained.

    Raises:
        InputError: there is no such preset.
    """
    if name not in PRESETS:
        raise InputError(f"{name!r} is not a preset{nearest(name, PRESETS)}; known: {', '.join(PRESETS)}")
    return PRESETS[name].make(model, n_layer)


def _script(
    name: str,
    model: str,
    context: ContextGiven,
    steps: list[Step],
    devices: tuple[DeviceGiven, ...] = (),
    model_params: ModelGiven | None = None,
) -> Script:
    return Script(
        name=name,
        about=PRESETS[name].teaches,
        model=model,
        context=msgspec.structs.replace(context, flash_attn="auto", swa_full=False),  # as llama.cpp's tools begin
        devices=devices,
        model_params=model_params or ModelGiven(),
        steps=tuple(steps),
    )


def _tokens(*counts: int) -> tuple[Group, ...]:
    """Sequence 0 gets the first count, sequence 1 the second; 0 leaves one out."""
    return tuple(Group(seq=seq, n=n) for seq, n in enumerate(counts) if n)


def _chat(model: str, n_layer: int) -> Script:
    steps = []
    for prompt, answer in ((100, 60), (30, 80), (45, 40)):
        steps += [Step(decode=_tokens(prompt)), Step(decode=_tokens(1), repeat=answer)]
    return _script("chat", model, ContextGiven(n_ctx=2048, n_batch=512, n_ubatch=128), steps)


def _slots(model: str, n_layer: int) -> Script:
    context = ContextGiven(n_ctx=4096, n_batch=512, n_ubatch=64, n_seq_max=4)
    steps = [
        Step(decode=_tokens(120, 40, 75, 9)),
        Step(decode=_tokens(1, 1, 1, 1), repeat=30),
        Step(decode=_tokens(1, 0, 1, 1), repeat=20),  # slot 1 is done
        Step(seq_rm=(1, -1, -1)),
        Step(decode=_tokens(1, 50, 1, 1)),  # and gets a new prompt beside the others' tokens
        Step(decode=_tokens(1, 1, 1, 1), repeat=20),
        Step(decode=_tokens(1, 1), repeat=15),
        Step(decode=_tokens(1), repeat=15),
    ]
    return _script("slots", model, context, steps)


def _growing(model: str, n_layer: int) -> Script:
    context = ContextGiven(n_ctx=2048, n_batch=512, n_ubatch=512)
    return _script("growing", model, context, [Step(decode=_tokens(200)), Step(decode=_tokens(1), repeat=1000)])


def _embeddings(model: str, n_layer: int) -> Script:
    context = ContextGiven(n_ctx=1024, n_batch=256, n_ubatch=256, n_seq_max=4, embeddings=True, pooling_type=1)
    steps = []
    for lengths in ((20, 20, 20, 20), (20, 20, 20, 20), (35, 12, 60, 8), (20, 20, 20, 20)):
        steps += [Step(decode=_tokens(*lengths), logits="all"), Step(clear=True)]
    return _script("embeddings", model, context, steps)


def _offload(model: str, n_layer: int) -> Script:
    context = ContextGiven(n_ctx=2048, n_batch=512, n_ubatch=64)
    steps = []
    for prompt in (200, 64, 20, 128):
        steps += [Step(decode=_tokens(prompt)), Step(decode=_tokens(1), repeat=12)]
    half = ModelGiven(n_gpu_layers=max(1, n_layer // 2))
    return _script("offload", model, context, steps, (DeviceGiven(name="GPU0", alignment=128),), half)


def _drafts(model: str, n_layer: int) -> Script:
    steps = [Step(decode=_tokens(96)), Step(decode=_tokens(1), repeat=4)]
    behind = 100
    for drafted, accepted in ((4, 4), (4, 1), (4, 0), (4, 2), (2, 1), (0, 0), (4, 3), (4, 4), (4, 2)):
        steps.append(Step(decode=_tokens(1 + drafted), logits="all"))
        behind += 1 + accepted
        if accepted < drafted:
            steps.append(Step(seq_rm=(0, behind, -1)))
    return _script("drafts", model, ContextGiven(n_ctx=1024, n_batch=128, n_ubatch=64), steps)


PRESETS: dict[str, Preset] = {
    "chat": Preset(
        "One chat",
        "Prompts and answers in turn: each change of the number of tokens rebuilds the graph, the answer re-uses it.",
        _chat,
    ),
    "slots": Preset(
        "Four slots of different length",
        "A server with four sequences: who is in a batch, and with how many tokens, is part of the graph's shape.",
        _slots,
    ),
    "growing": Preset(
        "Growing context",
        "One token at a time over 1,200 cells: attention sees the cache in steps of 256, a rebuild for each.",
        _growing,
    ),
    "embeddings": Preset(
        "Embedding requests",
        "Pooled embeddings of four texts at a time: the input of the pooling never allows re-use.",
        _embeddings,
    ),
    "offload": Preset(
        "Op offload switching between prompt and decode",
        "Half of the layers on a GPU: ops with 32 rows and more (matrix products from 32 tokens on, norms per head "
        "earlier) take the weights of the rest there too, so plans alternate.",
        _offload,
    ),
    "drafts": Preset(
        "Speculative drafts",
        "Batches of drafted tokens with all their logits, rejected ones removed: equal lengths re-use, others do not.",
        _drafts,
    ),
}
"""By name."""
