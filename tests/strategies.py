"""Hypothesis strategies for graph documents: small machines and graphs in the format of ``docs/graph-format.md``.

A document is valid by construction (known names, consistent shapes, no cycle), but real ggml may still abort on it: a
buffer with too many chunks, an op that no backend supports. Whoever uses them allows for that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

Document = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]
T = TypeVar("T")

TYPE_BLOCKS = {"f32": 1, "f16": 1, "bf16": 1, "i32": 1, "q4_0": 32, "q8_0": 32, "mxfp4": 32}
IN_PLACE = ("SCALE", "UNARY", "CLAMP", "SQR", "RMS_NORM", "SOFT_MAX", "DIAG_MASK_INF")
NOT_IN_PLACE = ("NORM", "COS", "SIN", "CONT", "DUP", "L2_NORM", "CUMSUM", "ARGSORT")
BINARY = ("ADD", "MUL", "SUB", "DIV")
REFUSABLE = ("SCALE", "MUL_MAT", "ADD", "MUL", "NORM", "CONT", "SOFT_MAX", "SET_ROWS", "CPY", "ROPE", "GET_ROWS")
WITH_SCRATCH = ("MUL_MAT", "FLASH_ATTN_EXT", "ARGSORT", "CUMSUM")


@dataclass(frozen=True, slots=True)
class Made:
    """A tensor of the document under construction, with what later tensors must know of it."""

    name: str
    ne: tuple[int, ...]
    type: str = "f32"
    contiguous: bool = True
    op: bool = True


class Builder:
    """Draws one graph, tensor by tensor."""

    def __init__(self, draw: Draw, bufts: list[str], pins: list[str], buffer_ids: int) -> None:
        """Start empty; ``bufts`` may hold weights, ``pins`` are backends, ``buffer_ids`` counts galloc's buffers."""
        self.draw, self.bufts, self.pins, self.buffer_ids = draw, bufts, pins, buffer_ids
        self.tensors: list[Document] = []
        self.made: list[Made] = []

    def chance(self, one_in: int) -> bool:
        """True now and then; shrinks to False."""
        return bool(self.draw(st.integers(0, one_in - 1)) == one_in - 1)

    def pick(self, choices: list[T] | tuple[T, ...]) -> T:
        """One of several; shrinks to the first."""
        return choices[int(self.draw(st.integers(0, len(choices) - 1)))]

    def shape(self) -> tuple[int, ...]:
        """Up to three dimensions; 0 is rare."""
        rows = self.pick((1, 2, 3, 5, 8, 17, 64))
        ne = (self.pick((32, 64, 96, 4, 256, 1)), rows, self.pick((1, 1, 1, 2, 4)))
        return (ne[0], 0, 1) if self.chance(60) else ne

    def add(self, prefix: str, made_of: Document, ne: tuple[int, ...], **known: Any) -> Made:
        """Append a tensor under a new name."""
        name = f"{prefix}{len(self.tensors)}"
        is_op = "op" in made_of
        self.tensors.append({"name": name, **made_of})
        if is_op and self.chance(12):
            self.tensors[-1]["flags"] = [self.pick(("output", "output", "input", "param"))]
        if self.pins and self.chance(15):
            self.tensors[-1]["pin"] = self.pick(self.pins)
        if self.buffer_ids > 1 and self.chance(3):
            self.tensors[-1]["buffer_id"] = self.draw(st.integers(0, self.buffer_ids - 1))
        made = Made(name, (*ne, 1, 1)[:3], op=is_op, **known)
        self.made.append(made)
        return made

    def leaf(self, ne: tuple[int, ...] | None = None, type_: str = "f32") -> Made:
        """A leaf: input, plain, parameter or weight."""
        ne = ne if ne is not None else self.shape()
        made_of: Document = {"ne": list(ne), "type": type_}
        kind = self.pick(("input", "weight_of", "plain", "alloc_in", "param", "input output"))
        if kind in ("weight_of", "alloc_in"):
            made_of[kind] = self.pick(self.bufts)
        elif kind != "plain":
            made_of["flags"] = kind.split()
        return self.add("l", made_of, ne, type=type_)

    def any(self, wanted: Callable[[Made], bool] = lambda made: True, ne: tuple[int, ...] | None = None) -> Made:
        """A tensor made before, often a late one, else a new leaf."""
        fitting: list[Made] = [made for made in self.made if wanted(made)]
        if not fitting:
            return self.leaf(ne)
        back = int(self.draw(st.integers(0, 12)))
        return fitting[max(len(fitting) - 1 - back, 0)]

    def elementwise(self) -> None:
        """An op of one source with its shape."""
        op, src = self.pick(IN_PLACE + NOT_IN_PLACE), self.any()
        self.add("u", {"op": op, "src": [src.name], "ne": list(src.ne)}, src.ne)

    def binary(self) -> None:
        """An op of two sources; the same one twice is possible."""
        a = self.any()
        b = a if self.chance(8) else self.any(lambda made: made.ne == a.ne) if not self.chance(3) else self.leaf(a.ne)
        self.add("b", {"op": self.pick(BINARY), "src": [a.name, b.name], "ne": list(a.ne)}, a.ne)

    def mul_mat(self) -> None:
        """A product with a new, perhaps quantised, weight."""
        x = self.any(lambda made: made.type == "f32")
        rows = self.pick((32, 8, 64))
        type_ = self.pick([name for name, block in TYPE_BLOCKS.items() if x.ne[0] % block == 0 and name != "i32"])
        weight = self.leaf((x.ne[0], rows), type_)
        ne = (rows, *x.ne[1:])
        self.add("mm", {"op": "MUL_MAT", "src": [weight.name, x.name], "ne": list(ne)}, ne)

    def convert(self) -> None:
        """A copy to another type, of an alloc size of its own where rows are padded."""
        src = self.any()
        type_ = self.pick([name for name, block in TYPE_BLOCKS.items() if src.ne[0] % block == 0])
        self.add("cv", {"op": "CPY", "src": [src.name], "ne": list(src.ne), "type": type_}, src.ne, type=type_)

    def view(self) -> None:
        """A view of some rows, also of a view."""
        base = self.any(lambda made: made.contiguous and made.ne[1] > 0, ne=(32, 8))
        rows = int(self.draw(st.integers(1, base.ne[1])))
        ne = (base.ne[0], rows)
        document: Document = {"op": "VIEW", "src": [base.name], "ne": list(ne), "type": base.type}
        if base.type == "f32":
            document["view_offs"] = 4 * base.ne[0] * (base.ne[1] - rows)
        self.add("vw", document, ne, type=base.type)

    def reshape(self) -> None:
        """All of it under another shape."""
        base = self.any(lambda made: made.contiguous)
        ne = (base.ne[0], base.ne[1] * base.ne[2])
        document = {"op": "RESHAPE", "src": [base.name], "ne": list(ne), "type": base.type}
        self.add("rs", document, ne, type=base.type)

    def permute(self) -> None:
        """Another order of the dimensions, shape and strides left to the reader."""
        base = self.any(lambda made: made.type == "f32")
        if self.chance(2):
            ne = (base.ne[1], base.ne[0], base.ne[2])
            self.add("tr", {"op": "TRANSPOSE", "src": [base.name]}, ne, contiguous=False)
        else:
            ne = (base.ne[0], base.ne[2], base.ne[1])
            document = {"op": "PERMUTE", "src": [base.name], "op_params": [0, 2, 1, 3]}
            self.add("pm", document, ne, contiguous=False)

    def into_cache(self) -> None:
        """Rows written into a pre-allocated tensor, or a copy into a view of something."""
        rows = self.any(lambda made: made.type == "f32" and made.contiguous)
        if self.chance(2):
            target = self.any(lambda made: made.ne == rows.ne, rows.ne)
            document: Document = {"op": "CPY", "src": [rows.name, target.name], "view_src": target.name}
            self.add("cp", document, target.ne, type=target.type, contiguous=target.contiguous)
            return
        cache = self.add("kc", {"ne": [rows.ne[0], 128], "alloc_in": self.pick(self.bufts)}, (rows.ne[0], 128))
        index = self.leaf((rows.ne[1],), "i32")
        document = {"op": "SET_ROWS", "src": [rows.name, index.name, cache.name], "view_src": cache.name}
        self.add("sr", document, cache.ne)

    def rope(self) -> None:
        """A source slot may stay empty."""
        x = self.any()
        positions = self.leaf((x.ne[1],), "i32")
        factors = [None, self.leaf((x.ne[0],)).name] if self.chance(2) else []
        document = {"op": "ROPE", "src": [x.name, positions.name, *factors], "ne": list(x.ne)}
        self.add("ro", document, x.ne)

    def leaf_view(self) -> None:
        """A view that is no op: it delays nothing, a hazard of ggml that must be reproduced."""
        base = self.any(lambda made: made.contiguous)
        self.add("lv", {"view_src": base.name, "ne": list(base.ne), "type": base.type}, base.ne, type=base.type)

    def graph(self, size: int) -> Document:
        """Draw the tensors and the roots."""
        self.leaf()
        steps = [self.elementwise, self.binary, self.mul_mat, self.view, self.reshape, self.permute]
        steps += [self.elementwise, self.binary, self.into_cache, self.rope, self.convert, self.leaf]  # type: ignore[list-item]
        for _ in range(size):
            self.leaf_view() if self.chance(40) else self.pick(steps)()
        ops = [made.name for made in self.made if made.op] or [self.made[-1].name]
        chosen = [name for name in ops if self.chance(5)]
        last = [ops[-1]] if ops[-1] not in chosen else []
        roots = [{"name": n, "compute": False} if self.chance(25) else n for n in [*chosen, *last]]
        return {"tensors": self.tensors, "outputs": roots}


@st.composite
def machines(draw: Draw, mode: str) -> Document:
    """Backends and buffer types: two for a GPU with other alignment and limits, the CPU last in mode sched."""

    def subset(choices: tuple[str, ...]) -> list[str]:
        return sorted(draw(st.sets(st.sampled_from(choices), max_size=3)))

    n = draw(st.sampled_from([1, 2, 3, 4] if mode == "galloc" else [2, 3, 4, 1]))
    backends: list[Document] = []
    for k in range(n):
        last = k == n - 1
        name = "CPU" if last else f"GPU{k}" if mode == "galloc" or draw(st.integers(0, 4)) < 4 else f"BLAS{k}"
        backend: Document = {"name": name, "align": draw(st.sampled_from([32, 64, 128, 16, 512]))}
        if not last and draw(st.integers(0, 6)) == 6:
            backend = {"name": name, "buft": "CPU" if k == 0 else backends[0].get("buft", backends[0]["name"])}
        if name.startswith("BLAS"):
            backend.update(type="accel", ops=["MUL_MAT", *subset(REFUSABLE)])
        if "buft" not in backend:
            if draw(st.integers(0, 2)) == 2:
                backend["max_size"] = draw(st.sampled_from([16384, 8192, 65536, 1 << 20, 2048]))
            if draw(st.integers(0, 4)) == 4:
                backend["pad_quant"] = draw(st.sampled_from([256, 512]))
            if draw(st.integers(0, 4)) == 4:
                backend["op_extra"] = {op: draw(st.sampled_from([32, 100, 4096])) for op in subset(WITH_SCRATCH)}
        if mode == "sched" and not last:
            backend["ops_except"] = subset(REFUSABLE) if "ops" not in backend else []
            backend["types_except"] = sorted(draw(st.sets(st.sampled_from(["q4_0", "bf16", "mxfp4"]), max_size=1)))
            if draw(st.integers(0, 2)) == 2:
                backend.update(offload="*", offload_min_batch=draw(st.sampled_from([1, 8, 32])))
            if draw(st.integers(0, 5)) == 5:
                backend["events"] = False
        backends.append({key: value for key, value in backend.items() if value != []})
    machine: Document = {"mode": mode, "backends": backends}
    if mode == "sched":
        if draw(st.booleans()):
            machine["bufts"] = [{"name": "GPU_Host", "host": True, "align": draw(st.sampled_from([32, 64]))}]
        options = {"parallel": draw(st.booleans()), "op_offload": draw(st.integers(0, 4)) < 4}
        machine["sched"] = options
    return machine


@st.composite
def graphs(
    draw: Draw, modes: tuple[str, ...] = ("galloc", "sched"), *, max_ops: int = 50, alloc_deps: bool = True
) -> Document:
    """A whole graph document: a machine, one graph, sometimes a sequence of runs."""
    mode = draw(st.sampled_from(modes))
    document: Document = draw(machines(mode))
    backends = document["backends"]
    bufts = sorted({b.get("buft", b["name"]) for b in backends} | {b["name"] for b in document.get("bufts", ())})
    pins = [b["name"] for b in backends] if mode == "sched" and draw(st.booleans()) else []

    def graph() -> Document:
        builder = Builder(draw, bufts, pins, len(backends) if mode == "galloc" else 0)
        return builder.graph(draw(st.sampled_from([max_ops // 4, max_ops // 2, max_ops, 2])))

    document.update(graph())
    if draw(st.integers(0, 3)) == 3:
        document["order"] = "right_to_left"
    if draw(st.integers(0, 5)) == 5:
        document["reserve"] = draw(st.booleans())
    if draw(st.integers(0, 3)) == 3:
        runs = draw(st.lists(st.sampled_from(["same", "reserve", "other"]), min_size=1, max_size=3))
        document["sequence"] = [{"reserve": True} if r == "reserve" else graph() if r == "other" else {} for r in runs]
    elif mode == "sched" and alloc_deps and draw(st.integers(0, 5)) == 5:
        document["alloc_deps"] = _alloc_deps(draw, document)
    return document


def _alloc_deps(draw: Draw, document: Document) -> list[list[str]]:
    """Dependencies of a root on one of its own sources, which is in the graph and comes before it."""
    tensors = {tensor["name"]: tensor for tensor in document["tensors"]}
    roots = [root for root in document["outputs"] if isinstance(root, str) and tensors[root].get("src")]
    pairs = [[source, root] for root in roots for source in tensors[root]["src"] if source and "op" in tensors[source]]
    return [draw(st.sampled_from(pairs))] if pairs else []
