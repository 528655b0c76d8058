"""The life of a decode written down once more, slowly and plainly: decisions only, as the recorded sessions say them.

From a script and a few facts of its model, without a graph: what is split how, which cells are seen, what is re-used
and why not, what is reserved. Nothing but the types of a script is shared with the package.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from galloscope.core.decode.script import Group, Script, Step
from galloscope.tests.core.decode.restated_memory import Dies, Piece, Row, pad256
from galloscope.tests.core.decode.restated_reuse import Active, heard, input_fits, same_params, written
from galloscope.tests.core.decode.restated_split import Attention, Hybrid, Memory, Seen, Stateful, Window

Record = dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """Of a model.

    Attributes:
        inputs: classes of the inputs of its graph, in order, without pooling and samplers.
        n_layer: layers, without the output.
        n_ctx_train: positions it was trained for.
        n_swa: of its window, 0 for none.
    """

    inputs: tuple[str, ...]
    n_layer: int
    n_ctx_train: int = 4096
    n_swa: int = 0


class Restated:
    """A context. `plan_fails`: the first plan cannot be allocated with copies of a pipeline."""

    def __init__(self, script: Script, facts: Facts, plan_fails: bool = False) -> None:
        given = script.context
        self.script, self.facts, self.plan_fails = script, facts, plan_fails
        n_ctx = given.n_ctx or facts.n_ctx_train
        self.n_batch = min(n_ctx, given.n_batch if given.n_batch is not None else given.n_ubatch)
        self.n_ubatch = min(self.n_batch, given.n_ubatch)
        self.n_outputs_max = given.n_outputs_max or self.n_batch
        n_ctx = pad256(n_ctx)
        self.n_seq_max = given.n_seq_max
        self.n_ctx_seq = n_ctx if given.kv_unified else pad256(n_ctx // self.n_seq_max)
        self.n_ctx = n_ctx if given.kv_unified else self.n_ctx_seq * self.n_seq_max
        self.unified = given.kv_unified
        self.memory = self.make_memory()
        self.embeddings, self.causal, self.aborting = given.embeddings, True, False
        self.samplers: dict[int, int] = {}
        self.n_samplers_made = 0
        number = re.match(r"\s*[-+]?\d+", script.env.get("LLAMA_GRAPH_REUSE_DISABLE", ""))  # atoi
        self.disabled = number is not None and int(number[0]) != 0
        self.active: Active | None = None
        self.n_reused = 0
        self.asked_to_reserve, self.probed = True, False
        self.pipeline = self.may_pipeline()
        self.n_copies = 1
        self.cur_copy = self.next_copy = 0

    def make_memory(self) -> Memory:
        n_stream = 1 if self.unified else self.n_seq_max
        named = " ".join(self.facts.inputs)
        if "iswa" in named:
            window = self.facts.n_swa * (self.n_seq_max if self.unified else 1) + self.n_ubatch
            small = self.n_ctx_seq if self.script.context.swa_full else pad256(min(self.n_ctx_seq, window))
            return Window(self.n_ctx_seq, small, n_stream, self.unified, self.facts.n_swa)
        if "hybrid" in named:
            return Hybrid(self.n_ctx_seq, n_stream, self.n_seq_max)
        if "input_rs" in named:
            return Stateful(self.n_seq_max)
        return Attention(self.n_ctx_seq, n_stream)

    def may_pipeline(self) -> bool:
        model, devices = self.script.model_params, self.script.devices
        layers = model.n_gpu_layers if model.n_gpu_layers is not None else self.facts.n_layer + 1
        return (
            len(devices) > 1
            and layers > self.facts.n_layer
            and model.split_mode == "layer"
            and self.script.context.offload_kqv
            and not model.tensor_override
            and all(device.async_events is not False for device in devices)
        )

    # -- reservations

    def plan(self, n_tokens: int, n_seqs: int, n_outputs: int, probe: bool = False, ok: bool = True) -> Record:
        if not probe:
            self.next_copy = 0
        rounded = -(-n_tokens // n_seqs) * n_seqs
        if self.embeddings and self.script.context.pooling_type == 1 and n_outputs != rounded:
            raise Dies("ggml_can_mul_mat: the mean of more tokens than there are outputs")
        sizes = {"n_tokens": n_tokens, "n_seqs": n_seqs, "n_outputs": n_outputs}
        return sizes | {"split_only": probe, "ok": ok}

    def prefill(self, ok: bool = True) -> Record:
        n_tokens = min(self.n_ctx, self.n_ubatch)
        return self.plan(n_tokens, self.n_seq_max, min(n_tokens, self.n_outputs_max), ok=ok)

    def sched_reserve(self) -> list[Record]:
        self.active = None
        self.cur_copy = self.next_copy = 0
        self.n_copies = 4 if self.pipeline else 1
        s, plans = self.n_seq_max, []
        if not self.probed:
            n_probes = 3 + (self.script.context.flash_attn == "auto")
            plans = [self.plan(s, s, s, probe=True) for _ in range(n_probes)]
        self.probed, self.asked_to_reserve = True, False
        if self.pipeline and self.plan_fails:
            plans.append(self.prefill(ok=False))
            self.pipeline, self.n_copies = False, 1
        return [*plans, self.prefill(), self.plan(s, s, s), self.prefill()]

    def update(self) -> list[Record]:
        if not self.memory.update(self.aborting):
            return []
        self.active = None
        return [self.prefill()]

    # -- a batch

    def rows(self, step: Step) -> list[Row]:
        """The tokens of a decode. A set of sequences arrives as an unordered_set gives it: the last one first."""
        following = {seq: self.memory.pos_max(seq) + 1 for seq in range(self.n_seq_max)}
        groups = [self.group(group, step, following) for group in step.decode or ()]
        if step.interleave:
            longest = max(len(rows) for rows in groups)
            ordered = [rows[i] for i in range(longest) for rows in groups if i < len(rows)]
        else:
            ordered = [row for rows in groups for row in rows]
        if step.logits == "default":
            ordered = [Row(row.seqs, row.pos, i == len(ordered) - 1) for i, row in enumerate(ordered)]
        return [Row(row.seqs, row.pos, row.out or self.embeddings) for row in ordered]

    def group(self, group: Group, step: Step, following: dict[int, int]) -> list[Row]:
        first = group.pos if group.pos is not None else following.get(group.seqs[0], 0)
        following |= dict.fromkeys(group.seqs, first + group.n)
        mode = group.logits or step.logits
        marked = {"last": {group.n - 1}, "first": {0}, "all": set(range(group.n))}.get(mode, set())
        seqs = tuple(reversed(dict.fromkeys(group.seqs)))
        return [Row(seqs, first + i, i in marked) for i in range(group.n)]

    def bad(self, rows: list[Row]) -> bool:
        """Whether llama_decode returns -1."""
        for seq in self.samplers:
            if sum(row.out and seq in row.seqs for row in rows) > 1:  # llama_context_params::n_outputs_max_per_seq
                return True
        seqs = sorted({seq for row in rows for seq in row.seqs})
        if any(not 0 <= seq < self.n_seq_max for seq in seqs):
            return True
        for seq in seqs:
            mine = [row.pos for row in rows if seq in row.seqs]
            last = self.memory.pos_max(seq)
            if (last >= 0 and min(mine) != last + 1) or max(mine) - min(mine) + 1 > len(set(mine)):
                return True
            if mine != sorted(mine):
                return True
            if not set.intersection(*(set(row.seqs) for row in rows if seq in row.seqs)):
                return True
        for row in rows:
            for other in row.seqs[1:]:
                for place in (self.memory.pos_min, self.memory.pos_max):
                    if place(other) != place(row.seqs[0]):
                        return True
        return False

    def decode(self, step: Step) -> Record:
        rows = self.rows(step)
        if self.bad(rows):
            return {"ret": -1, "ubatches": []}
        if len(rows) > self.n_batch:
            raise Dies("n_tokens_all <= cparams.n_batch")
        if not self.causal and self.n_ubatch < len(rows):
            raise Dies("non-causal attention requires n_ubatch >= n_tokens")
        reserves = self.sched_reserve() if self.asked_to_reserve else []
        reserves += self.update()
        placed = self.memory.place(rows, self.n_ubatch, self.embeddings)
        if placed is None and (again := self.update()):
            reserves += again
            placed = self.memory.place(rows, self.n_ubatch, self.embeddings)
        record: Record = {"ret": 0, "ubatches": [], "reserves": reserves}
        if placed is None:
            return record | {"ret": 1}
        if max(sum(row.out for row in rows), self.n_seq_max) > self.n_outputs_max:
            raise Dies("n_outputs_max <= cparams.n_outputs_max")
        for piece, slot in placed:
            record["ubatches"].append(self.process(piece, self.memory.apply(piece, slot), step.input == "embd"))
            if self.aborting:
                self.forget(piece)
                return record | {"ret": 2}
        return record

    def forget(self, piece: Piece) -> None:
        """After an abort: only the first sequence of each token is taken out."""
        starts: dict[int, int] = {}
        for row in piece.rows:
            starts[row.seqs[0]] = min(starts.get(row.seqs[0], row.pos), row.pos)
        for seq in sorted(starts):
            self.memory.seq_rm(seq, starts[seq], -1)

    # -- a micro-batch

    def process(self, piece: Piece, seen: Seen, embd: bool) -> Record:
        n_outputs = sum(row.out for row in piece.rows)
        inputs = [*self.facts.inputs, *self.pooling(), *(["llm_graph_input_sampling"] if self.samplers else [])]
        now = Active(piece, embd, n_outputs, dict(self.samplers), self.embeddings, self.causal, seen, inputs)
        was, answer, asked = self.active, None, []
        if not self.disabled and was is not None and (was.n_outputs > 0) == (n_outputs > 0):
            params_ok = same_params(was, now)
            asked = [[name, int(input_fits(name, was, now))] for name in was.inputs] if params_ok else []
            answer = {"result": params_ok and all(fits for _, fits in asked), "params_ok": params_ok, "inputs": asked}
        reused = answer is not None and bool(answer["result"])
        if reused:
            self.n_reused += 1
        else:
            self.active = now
            self.cur_copy, self.next_copy = self.next_copy, (self.next_copy + 1) % self.n_copies
        return {
            "ubatch": written(piece, embd),
            "ok": not self.aborting,
            "reused": reused,
            "n_reused": self.n_reused,
            "can_reuse": answer,
            "slot": int(n_outputs > 0),
            "input_classes": was.inputs if reused and was is not None else inputs,
            "mem": {key: heard(values, bool(asked), not reused) for key, values in seen.items()},
            "n_copies": self.n_copies,
            "cur_copy": self.cur_copy,
            "next_copy": self.next_copy,
        }

    def pooling(self) -> list[str]:
        if not self.embeddings or self.script.context.pooling_type not in (1, 2, 3, 4):
            return []
        return ["llm_graph_input_mean" if self.script.context.pooling_type == 1 else "llm_graph_input_cls"]

    # -- the whole session

    def start(self) -> list[Record]:
        if self.n_seq_max > self.n_outputs_max:
            raise Dies("n_outputs_max <= cparams.n_outputs_max")
        return self.sched_reserve()

    def step(self, step: Step) -> Record:
        if step.decode is not None:
            return self.decode(step)
        ret = None
        if step.seq_rm is not None:
            ret = self.memory.seq_rm(*step.seq_rm)
        elif step.seq_cp is not None:
            self.memory.seq_cp(*step.seq_cp)
        elif step.seq_add is not None:
            self.memory.seq_add(*step.seq_add)
        elif step.clear is not None:
            self.memory.clear()
        elif step.set_embeddings is not None:
            self.embeddings = step.set_embeddings
        elif step.set_causal_attn is not None:
            self.causal = step.set_causal_attn
        elif step.set_abort is not None:
            self.aborting = step.set_abort
        elif step.clear_cvec is not None:
            self.asked_to_reserve = True
        elif step.set_sampler is not None:
            ret = self.set_sampler(step.set_sampler, step.remove)
        return {"ret": ret, "ubatches": []}

    def set_sampler(self, seq: int, remove: bool) -> bool:
        if remove and seq not in self.samplers:
            return True
        self.asked_to_reserve = True
        self.n_samplers_made += 1
        if remove:
            del self.samplers[seq]
        else:
            self.samplers[seq] = self.n_samplers_made
        return True


def restate(script: Script, facts: Facts, plan_fails: bool = False) -> Record:
    """The decisions of a session, up to where the process would die: then `abort` says why."""
    context = Restated(script, facts, plan_fails)
    record: Record = {"init": {}, "steps": [], "abort": ""}
    try:
        pipeline = context.pipeline
        record["init"] = {"effective": {"n_ctx": context.n_ctx}, "pipeline_parallel": pipeline}
        record["init"]["reserves"] = context.start()
        record["init"]["n_copies"] = context.n_copies
        for step in script.steps:
            for _ in range(step.repeat):
                record["steps"].append(context.step(step))
    except Dies as death:
        record["abort"] = str(death)
    return record
