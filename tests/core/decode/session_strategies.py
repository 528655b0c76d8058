"""Hypothesis strategies for scripts of sessions: small contexts, every kind of step, plausible and implausible.

A script never makes the process of llama.cpp end by an assert, unless it is asked for with `deadly`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st

from galloscope.core.decode.script import ContextGiven, DeviceGiven, Group, ModelGiven, Outputs, Script, Step

MODELS = ("llama.gguf", "gemma3.gguf", "mamba.gguf", "qwen3moe.gguf", "llama_4l.gguf")
OUTPUTS: tuple[Outputs, ...] = ("all", "none", "first", "last")
OVERRIDE = "blk.1.ffn_up.weight"
KINDS = (
    *(["decode"] * 12),
    *("fill", "fill"),
    *("seq_rm", "seq_rm", "seq_cp", "seq_cp", "seq_add", "clear", "set_embeddings", "set_causal_attn", "set_warmup"),
    *("synchronize", "clear_cvec", "set_sampler", "set_sampler", "set_abort"),
)
Draw = Callable[[st.SearchStrategy[Any]], Any]
T = TypeVar("T")


class Maker:
    """Draws one script, step by step, and keeps in mind what would end the process."""

    def __init__(self, draw: Draw, models: tuple[str, ...], max_devices: int, deadly: bool) -> None:
        self.draw, self.deadly = draw, deadly
        self.model = self.pick(models)
        self.devices = self.some_devices(max_devices)
        self.context = self.some_context()
        self.given_batch = self.context.n_batch or self.context.n_ubatch
        self.n_batch = min(self.context.n_ctx, self.given_batch)
        self.causal, self.embeddings, self.first = True, self.context.embeddings, True
        # A graph without a node on the CPU does not notice that it should stop: no such graph is made then.
        self.may_abort = not self.devices

    def chance(self, one_in: int) -> bool:
        """True now and then; shrinks to False."""
        return bool(self.draw(st.integers(0, one_in - 1)) == one_in - 1)

    def pick(self, choices: tuple[T, ...]) -> T:
        """One of several; shrinks to the first."""
        return choices[int(self.draw(st.integers(0, len(choices) - 1)))]

    def number(self, low: int, high: int) -> int:
        """One of a range; shrinks to the lowest."""
        return int(self.draw(st.integers(low, max(low, high))))

    def some_devices(self, most: int) -> tuple[DeviceGiven, ...]:
        alignment, asynchronous = self.pick((128, 32, 256)), not self.chance(4)
        return tuple(
            DeviceGiven(name=f"GPU{i}", alignment=alignment, async_events=asynchronous)
            for i in range(self.number(0, most))
        )

    def some_context(self) -> ContextGiven:
        n_seq_max = self.pick((1, 2, 3, 4))
        n_ctx = self.pick((256, 512, 300, 768, 1024))
        n_ubatch = self.pick((16, 8, 64, 32, 5, 1, self.number(1, 64)))
        n_batch = max(self.pick((n_ubatch, 64, 128, 256)), n_ubatch, n_seq_max)
        few = 0 if self.chance(8) is False else self.number(n_seq_max, n_batch)
        if self.deadly:
            n_batch, few = self.number(1, 64), self.pick((0, 1, 4, 8))
        pooling = self.pick((-1, -1, 0, 1, 2, 3))
        n_tokens = min(n_ctx, n_batch, n_ubatch)
        if pooling == 1 and not self.deadly and (n_tokens % n_seq_max or 0 < few < n_tokens):
            pooling = 2  # the mean of more tokens than outputs, which a reservation may ask for, ends the process
        return ContextGiven(
            n_ctx=n_ctx,
            n_batch=None if n_ubatch == n_batch and self.chance(2) else n_batch,
            n_ubatch=n_ubatch,
            n_seq_max=n_seq_max,
            kv_unified=self.chance(2),
            flash_attn=self.pick(("off", "on", "auto")),
            swa_full=self.chance(3),
            embeddings=self.chance(8),
            pooling_type=pooling,
            n_outputs_max=few,
            offload_kqv=not self.chance(6),
            op_offload=not self.chance(3),
        )

    def some_model(self) -> ModelGiven:
        n_gpu_layers = self.pick((None, 99, 1, 2, 3, 0)) if self.devices else None
        split: Literal["none", "layer"] = "none" if self.devices and self.chance(6) else "layer"
        override = OVERRIDE if self.devices and self.model != "mamba.gguf" and self.chance(6) else ""
        return ModelGiven(n_gpu_layers=n_gpu_layers, split_mode=split, tensor_override=override)

    def seq(self) -> int:
        """Nearly always one that the context has."""
        return self.context.n_seq_max if self.chance(60) else self.number(0, self.context.n_seq_max - 1)

    def seqs(self) -> int | tuple[int, ...]:
        if self.context.n_seq_max > 1 and self.chance(8 if self.first else 30):
            several = st.lists(st.integers(0, self.context.n_seq_max - 1), min_size=2, max_size=3, unique=True)
            return tuple(self.draw(several))
        return self.seq()

    def position(self) -> int:
        return self.pick((-1, 0, self.number(0, 40), self.number(0, self.context.n_ctx)))

    def step(self) -> Step:
        """One of every kind."""
        kind = self.pick(KINDS)
        made: Step = getattr(self, kind)()
        self.first = self.first and kind != "decode"
        return made

    def fill(self) -> Step:
        """One sequence grows until its cache has no room left, or not quite."""
        n = self.n_batch if self.causal else min(self.n_batch, self.context.n_ubatch)
        n = min(n, self.context.n_outputs_max) if self.context.n_outputs_max and self.embeddings else n
        share = self.context.n_ctx if self.context.kv_unified else self.context.n_ctx // self.context.n_seq_max
        most = 60 * self.context.n_ubatch // n  # of small micro-batches not too many
        times = min(share // n + self.pick((1, 0, -2)), most)
        group = Group(seq=self.number(0, self.context.n_seq_max - 1), n=n)
        return Step(decode=(group,), repeat=max(times, 1), input="embd" if self.chance(20) else "token")

    def decode(self) -> Step:
        """Groups within the limits of a batch; one of them may have a bad position."""
        limit = self.n_batch
        if not self.causal and not self.deadly:
            limit = min(limit, self.context.n_ubatch)
        few = self.context.n_outputs_max
        if few and self.embeddings and not self.deadly:
            limit = min(limit, few)
        if self.deadly:
            limit += 8
        groups: list[Group] = []
        for _ in range(self.pick((1, 1, 2, 3, 4, 6))):
            n = min(self.pick((1, 1, 1, self.number(1, 20), self.context.n_ubatch, limit)), limit)
            if n < 1 or (few and not self.deadly and len(groups) == few):
                break
            limit -= n
            pos = self.number(0, 40) if self.chance(30) else None
            own: Outputs | None = self.pick(OUTPUTS) if not few and self.chance(8) else None
            seqs = self.seqs()
            if seqs == self.context.n_seq_max:
                pos = 0  # llama.cpp is not asked where a sequence ends that it does not have
            groups.append(Group(seq=seqs, n=n, pos=pos, logits=own))
        twice = len({group.seqs for group in groups}) < len(groups)
        plain = all(group.logits is None for group in groups)
        modes = ("last", "last", "none", "first", *(() if few else ("all",)), *(("default",) if plain else ()))
        return Step(
            decode=tuple(groups),
            logits=self.pick(modes),
            input="embd" if self.chance(10) else "token",
            interleave=len(groups) > 1 and self.chance(20 if twice else 3),
            repeat=self.pick((1, 1, 2, 3, 8)),
        )

    def seq_rm(self) -> Step:
        seq = -1 if self.chance(20) else self.number(0, self.context.n_seq_max - 1)
        return Step(seq_rm=(seq, self.position(), self.position()))

    def seq_cp(self) -> Step:
        ends = (self.position(), self.position())
        if not self.context.kv_unified and not self.deadly:
            ends = (-1, -1)
        last = self.context.n_seq_max - 1
        return Step(seq_cp=(self.number(0, last), self.number(0, last), *ends))

    def seq_add(self) -> Step:
        return Step(
            seq_add=(self.number(0, self.context.n_seq_max - 1), self.position(), self.position(), self.number(-20, 20))
        )

    def clear(self) -> Step:
        return Step(clear=True)

    def set_embeddings(self) -> Step:
        self.embeddings = not self.chance(2)
        return Step(set_embeddings=self.embeddings)

    def set_causal_attn(self) -> Step:
        self.causal = not self.chance(2)
        return Step(set_causal_attn=self.causal)

    def set_warmup(self) -> Step:
        return Step(set_warmup=self.chance(2))

    def synchronize(self) -> Step:
        return Step(synchronize=True)

    def clear_cvec(self) -> Step:
        return Step(clear_cvec=True)

    def set_sampler(self) -> Step:
        return Step(set_sampler=self.number(0, self.context.n_seq_max - 1), remove=self.chance(3))

    def set_abort(self) -> Step:
        return Step(set_abort=self.may_abort and not self.chance(2))

    def script(self) -> Script:
        """The whole."""
        steps = tuple(self.step() for _ in range(self.number(1, 14)))
        return Script(
            name="drawn",
            model=self.model,
            context=self.context,
            devices=self.devices,
            model_params=self.some_model(),
            env={"LLAMA_GRAPH_REUSE_DISABLE": self.pick(("1", "0"))} if self.chance(12) else {},
            steps=steps,
        )


@st.composite
def sessions(draw: Draw, models: tuple[str, ...] = MODELS, max_devices: int = 2, deadly: bool = False) -> Script:
    """A script."""
    return Maker(draw, models, max_devices, deadly).script()
