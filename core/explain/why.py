"""Why a tensor is where it is, in sentences: device, cause, neighbours, memory, lifetime."""

from __future__ import annotations

from ..check.checker import Verdict, check
from ..dtypes import contiguous
from ..events import WEIGHT_CAUSES, Cause, Refusal
from ..op import Op
from ..state import State
from ..tensor import Flag
from ..text import bytes_text, hex_text, shape_text
from .answers import REFUSAL_WORDS
from .sentence import Sentence, count, name
from .usage import current_lifetimes, kind_of


def why(state: State, tensor: int) -> list[Sentence]:
    """What a person needs to know about one tensor, in reading order."""
    teller = _Teller(state, tensor)
    told = [
        teller.what_it_is(),
        *teller.hazards(),
        teller.placed(),
        *teller.refused(),
        teller.copied(),
        teller.memory(),
        teller.in_place(),
        *teller.not_in_place(),
        teller.taken_over(),
        teller.kept_alive(),
    ]
    return [sentence for sentence in told if sentence is not None]


class _Teller:
    """One tensor of a state, asked from several sides."""

    def __init__(self, state: State, tensor: int) -> None:
        self.state = state
        self.id = tensor
        self.tensor = state.tensors[tensor]
        self.life = current_lifetimes(state).get(tensor)

    def n(self, tensor: int) -> str:
        return name(self.state.names[tensor])

    def backend(self, number: int) -> str:
        return self.state.backends[number].name if number >= 0 else "no backend"

    def what_it_is(self) -> Sentence:
        tensor, state = self.tensor, self.state
        strided = "" if tensor.nb == contiguous(tensor.dtype, tensor.ne) else f", strides {list(tensor.nb)}"
        kind = kind_of(state, self.id)
        if tensor.op is Op.NONE:
            kind = f"an {kind}" if kind == "input" else f"a {kind}"
            if self.id in state.dependencies:
                kind += ", which keeps its source alive until this place in the order"
        view = ""
        if tensor.view_src >= 0:
            view = f", a view of {self.n(tensor.view_src)} from byte {tensor.view_offs:,}"
        return Sentence(
            "what",
            f"{self.n(self.id)} is {kind}: {tensor.dtype.name} {shape_text(tensor.ne)}, "
            f"**{bytes_text(tensor.nbytes)}**{strided}{view}.",
            tensor=tensor.view_src,
        )

    def hazards(self) -> list[Sentence]:
        """Overlaps with live data; only a kept plan or a view without op can have one, so the check is rarely made."""
        state = self.state
        kept = state.places and not state.reserved
        if not kept and not any(t.view_src >= 0 and t.op is Op.NONE for t in state.tensors[: state.n_graph]):
            return []
        told = []
        for hit in check(state):
            if hit.verdict is Verdict.OVERLAP and self.id in (hit.tensor, hit.other):
                by, over = self.n(hit.tensor), self.n(hit.other)
                told.append(
                    Sentence(
                        "hazard",
                        f"**{'Overwrites' if self.id == hit.tensor else 'Overwritten'}**: at step {hit.step}, {by} is "
                        f"written over {over}, which is still needed.",
                        tensor=hit.other if self.id == hit.tensor else hit.tensor,
                        alarm=True,
                    )
                )
        return told

    def placed(self) -> Sentence | None:
        """Device, pass and cause, with the neighbour, weight or base that decided."""
        state = self.state
        cause = state.causes[self.id]
        if cause is None or not state.passes:
            return None
        backend = state.backend_ids[self.id]
        where = self.backend(backend)
        by = state.came_from[self.id]
        text = self._cause(cause, where, by)
        return Sentence("placed", f"On **{where}** ({cause.value}): {text}.", tensor=by)

    def _cause(self, cause: Cause, where: str, by: int) -> str:
        state = self.state
        last = self.backend(len(state.backends) - 1)
        if cause in WEIGHT_CAUSES:
            return f"its weight {self.n(by)} lies in {self._buffer_of(by)}, and pass 1 runs an op where its weight is"
        if cause is Cause.SUP and by >= 0:
            way = "down" if self._position(by) < self._position(self.id) else "up"
            return f"pass 2, going {way}, gave it the device of {self.n(by)}, which it supports"
        one = self.n(by) if by >= 0 else "another tensor"
        words = {
            Cause.USR: "pinned by the application (ggml_backend_sched_set_tensor_backend)",
            Cause.DST: f"its bytes already lie in {self._buffer_of(self.id)}, which decides",
            Cause.INP: f"a graph input starts on the last backend, {last}",
            Cause.OFF: f"its weight {one} is in host memory, but {where} offers to take over such a batch",
            Cause.SUP: "nothing else decided, so the first backend that supports it",
            Cause.BEST: self._best(),
            Cause.UPG: "pass 3 moved it up: a backend of higher priority has its buffer type and reads each source",
            Cause.VSRC: f"a view follows its base {one}",
            Cause.CUR: f"pass 4: it had no device of its own, so that of its first user {one}",
            Cause.CPY: f"a copy of {one}, which {where} cannot read where it is",
            Cause.LEAF_CPY: "one of the copies of an input, so that several batches can be in flight",
        }
        return words[cause]

    def _best(self) -> str:
        rows = self.state.weighed.get(self.id, [])
        total = sum(1 for source in self.tensor.src if source >= 0)
        refused = any((self.id, b) in self.state.refused for b in range(len(self.state.backends)))
        lead = "no neighbour's device could run it" if refused else "nothing around it has a device yet"
        if len(rows) == 1:
            return f"{lead}, and {self.backend(rows[0][0])} is the only one {'that can' if refused else 'there is'}"
        listed = ", ".join(f"{self.backend(b)} {readable} of {total}" for b, readable in rows)
        return f"{lead}; pass 3 took the first that reads most of its sources: {listed}"

    def _buffer_of(self, tensor: int) -> str:
        base = self.state.tensors[tensor].view_src
        buft = self.state.tensors[base if base >= 0 else tensor].buft
        return f"a {self.state.bufts[buft].name} buffer" if buft >= 0 else "its buffer"

    def _position(self, tensor: int) -> int:
        nodes = self.state.nodes
        return nodes.index(tensor) if tensor in nodes else -1

    def refused(self) -> list[Sentence]:
        told = []
        for (tensor, backend), reason in self.state.refused.items():
            if tensor == self.id:
                told.append(Sentence("refused", f"Not on **{self.backend(backend)}**: {reason}."))
        for (tensor, backend), reason in self.state.declined.items():
            if tensor == self.id:
                told.append(Sentence("declined", f"**{self.backend(backend)}** does not take it over: {reason}."))
        return told

    def copied(self) -> Sentence | None:
        """Where copies of it go, and into which splits."""
        state = self.state
        mine = [one for one in state.copies if one.src == self.id and one.tensor != self.id]
        into = [one for one in mine if one.cause is Cause.CPY]
        twins = len(mine) - len(into)
        entered = [number for number, split in enumerate(state.splits) if self.id in split.inputs]
        told = []
        if into:
            where = ", ".join(f"split {k} ({self.backend(state.splits[k].backend)})" for k in entered)
            told.append(
                f"Copied into {where}: {count(len(into), 'copy', 'copies')} of {bytes_text(self.tensor.nbytes)}."
            )
        if twins:
            where = self.backend(state.backend_ids[self.id])
            told.append(f"{count(twins, 'twin')} beside it on {where}, for batches in flight.")
        return Sentence("copied", " ".join(told), split=entered[0] if entered else -1) if told else None

    def memory(self) -> Sentence:
        state, tensor = self.state, self.tensor
        if tensor.view_src >= 0:
            return Sentence("memory", f"It has no bytes of its own: they belong to {self.n(tensor.view_src)}.",
                            tensor=tensor.view_src)  # fmt: skip
        if tensor.buft >= 0:
            usage = "weights" if tensor.is_weight else "other data, such as the KV cache"
            buft = state.bufts[tensor.buft].name
            return Sentence("memory", f"Allocated before planning, in a {buft} buffer for {usage}.")
        life = self.life
        if life is None:
            return Sentence("memory", "The plan gives it no place.")
        buft = state.buffers[life.buffer].buft.name
        chunk = f" chunk {life.chunk}" if len(state.buffers[life.buffer].chunks) > 1 else ""
        last = life.dies if life.child >= 0 else life.dies - 1  # the child that takes over still reads it
        asked = state.buffers[life.buffer].buft.alloc_size(self.id, state.tensors, state.src[self.id])
        extra = (
            f", {asked - tensor.nbytes:,} of them behind the tensor, as the buffer type asks"
            if asked > tensor.nbytes
            else ""
        )
        rounded = f", rounded up from {asked:,}" if life.size != asked else ""
        return Sentence(
            "memory",
            f"At **{hex_text(life.offset)}** of the {buft} compute buffer{chunk}: {life.size:,} bytes{rounded}{extra}, "
            f"in use from step {life.born} to {'the end' if life.dies >= state.n_steps else f'step {last}'}.",
        )

    def in_place(self) -> Sentence | None:
        parent = self.state.reused.get(self.id)
        if parent is None:
            return None
        return Sentence("in_place", f"In place: it took the memory of {self.n(parent)}, whose last reader it is.",
                        tensor=parent)  # fmt: skip

    def not_in_place(self) -> list[Sentence]:
        told = []
        for child, parent, reason, number in self.state.no_reuse:
            if child != self.id:
                continue
            words = REFUSAL_WORDS[reason]
            if reason is Refusal.CHILDREN:
                words = f"it has {count(number, 'read')} left, not 1"
            elif reason is Refusal.VIEWS:
                words = f"{count(number, 'view')} of it are still in use" if number != 1 else "a view of it is in use"
            elif reason is Refusal.EXTERNAL:
                words = self._external(parent)
            elif reason is Refusal.OUTPUT and self._is_pipelined(parent):
                words = "the scheduler flags pipeline copies OUTPUT, so that nothing overwrites them"
            told.append(Sentence("not_in_place", f"Not in the place of {self.n(parent)}: {words}.", tensor=parent))
        return told

    def _external(self, parent: int) -> str:
        one = self.state.tensors[parent]
        if one.view_src >= 0:
            return "it is a view, and ggml never overwrites through a view"
        if one.buft >= 0:
            return "its bytes were allocated before planning"
        return "the allocator does not own it at that point"

    def taken_over(self) -> Sentence | None:
        lives = [self.life, *(life for life in self.state.earlier if life.tensor == self.id)]
        for life in lives:
            if life is not None and life.child >= 0:
                again = "" if life is self.life else " before it was read, so it was given other memory"
                return Sentence(
                    "taken_over", f"Its memory went to {self.n(life.child)}, in place{again}.", tensor=life.child
                )
        return None

    def kept_alive(self) -> Sentence | None:
        """Who needs it last, or why it is never freed."""
        state, life = self.state, self.life
        readers = [node for node, _ in state.alloc_nodes if self.id in state.src[node]]
        through = [t for t in range(len(state.tensors)) if state.tensors[t].view_src == self.id and t < state.n_graph]
        if life is None:
            if not readers:
                return None
            return Sentence("readers", f"Read by {self._listed(readers)}.", tensor=readers[0])
        if life.kept or (state.flags[self.id] & Flag.OUTPUT and life.dies >= state.n_steps):
            why = (
                "the scheduler flags pipeline copies OUTPUT" if self._is_pipelined(self.id) else "it is flagged OUTPUT"
            )
            return Sentence("kept", f"Never freed: {why}.")
        if not readers and not through:
            return Sentence("kept", "Nothing reads it, and only a read can free: it stays to the end.")
        if life.dies >= state.n_steps and not life.freed and life.child < 0:
            hidden = " (a view of it that nothing uses up keeps it)" if through else ""
            return Sentence("kept", f"Read by {self._listed(readers)}; it stays to the end{hidden}.")
        last = state.alloc_nodes[min(life.dies, state.n_steps) - 1][0] if life.dies else -1
        read = f"Read by {self._listed(readers)}" if readers else f"Read through {count(len(through), 'view')}"
        until = (
            f"; kept alive until {self._reader(last)} (step {life.dies - 1}) ran" if life.freed and last >= 0 else ""
        )
        return Sentence("readers", f"{read}{until}.", tensor=last)

    def _is_pipelined(self, tensor: int) -> bool:
        """It is OUTPUT only because the scheduler keeps it for batches in flight."""
        if tensor >= self.state.n_graph:
            return True
        return bool(self.state.flags[tensor] & ~self.state.tensors[tensor].flags & Flag.OUTPUT)

    def _reader(self, tensor: int) -> str:
        """A reader's name; a dependency node stands for the copy made right after it."""
        state = self.state
        if tensor in state.dependencies:
            step = next(step for step, (node, _) in enumerate(state.alloc_nodes) if node == tensor)
            after = state.alloc_nodes[step + 1][0] if step + 1 < state.n_steps else -1
            if any(one.tensor == after and one.src == self.id for one in state.copies):
                return f"its copy {self.n(after)}"
        return self.n(tensor)

    def _listed(self, tensors: list[int]) -> str:
        shown = ", ".join(self._reader(t) for t in tensors[:3])
        more = len(tensors) - 3
        return shown + (f" and {more:,} more" if more > 0 else "") if tensors else "nothing directly"
