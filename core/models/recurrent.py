"""The recurrent states as a graph sees them (llama_memory_recurrent, llm_graph_context::build_rs)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..dtypes import DTYPES
from ..ops import Context, Lazy, cpy, get_rows, new_tensor, reshape, scale, view
from ..tensor import Flag
from .cparams import Cparams
from .hparams import Hparams

_F32, _I32 = DTYPES["f32"], DTYPES["i32"]


class RsInput(NamedTuple):
    """llm_graph_input_rs: where each state that takes part comes from.

    Attributes:
        all: one id per state.
        main: those of the sequences of the micro-batch.
        rest: all but the first, which always belongs to a sequence.
    """

    all: Lazy
    main: Lazy
    rest: Lazy


class RsCache:
    """Every layer's convolution state (r) and recurrent state (s), [elements, states]; empty without a recurrence."""

    def __init__(self, hparams: Hparams, cparams: Cparams) -> None:
        """Make the leafs."""
        self.shape, self.size = cparams.shape, cparams.n_seq_max
        layers = range(hparams.n_layer) if hparams.recurrent else ()
        self.r = {il: new_tensor(_F32, hparams.n_embd_r, self.size).set_name(f"cache_r_l{il}") for il in layers}
        self.s = {il: new_tensor(_F32, hparams.n_embd_s, self.size).set_name(f"cache_s_l{il}") for il in layers}

    def inputs(self) -> RsInput:
        """build_rs_inp_impl."""
        n_rs, n_seqs = self.shape.n_rs, self.shape.n_seqs
        ids = new_tensor(_I32, n_rs).set_name("rs_s_copy")
        ids.flags |= Flag.INPUT
        return RsInput(ids, view(ids, (n_seqs,)), view(ids, (n_rs - 1,), (), ids.nb[0]))

    def load(self, ctx: Context, states: Lazy, inp: RsInput) -> Lazy:
        """build_rs with ggml_get_rows: the states of the sequences, [elements, sequences]."""
        rows = self._zeroed(ctx, states)
        copied = get_rows(rows, inp.all)
        main = view(copied, (copied.ne[0], self.shape.n_seqs), (copied.nb[1],))
        ctx.expand(main)
        self._move(ctx, states, copied, self.shape.n_seqs)
        return main

    def scan(self, ctx: Context, states: Lazy, inp: RsInput, use: Callable[[Lazy, Lazy], Lazy]) -> Lazy:
        """build_rs with a function that reads the states where they lie: use(states, ids)."""
        rows = self._zeroed(ctx, states)
        result = use(rows, inp.main)
        ctx.expand(result)
        self._move(ctx, states, get_rows(rows, inp.rest), self.shape.n_seqs - 1)
        return result

    def store(self, ctx: Context, states: Lazy, cur: Lazy) -> None:
        """Write the new states of the sequences from the first state on."""
        n = states.ne[0]
        ctx.expand(cpy(cur, view(states, (n * self.shape.n_seqs,), (), self.shape.rs_head * states.nb[1])))

    def _zeroed(self, ctx: Context, states: Lazy) -> Lazy:
        """All states in rows, the one of a new sequence set to 0; a view without elements when there is none."""
        rows = reshape(states, *states.ne[:2])
        zero = self.shape.rs_z
        cleared = view(rows, (rows.ne[0] if zero >= 0 else 0,), (), max(zero, 0) * rows.nb[1])
        ctx.expand(scale(cleared, 0.0, inplace=True))
        return rows

    def _move(self, ctx: Context, states: Lazy, copied: Lazy, first: int) -> None:
        """States of sequences that are not in the micro-batch change places only: those of `copied` from `first` on."""
        n, n_seqs = states.ne[0], self.shape.n_seqs
        n_extra = self.shape.n_rs - n_seqs
        source = view(copied, (n, n_extra), (copied.nb[1],), first * copied.nb[1])
        target = view(states, (n, n_extra), (states.nb[1],), (self.shape.rs_head + n_seqs) * states.nb[1])
        ctx.expand(cpy(source, target))
