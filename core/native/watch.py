"""Looking at every node of a running graph through the scheduler's eval callback, in the child process."""

from __future__ import annotations

import ctypes as C
import os
from typing import Any

from ..dtypes import nbytes
from ..op import Op
from . import decode_layouts as more
from . import layouts as abi
from .asking import OPS, TYPES
from .observe_messages import RawNode, RawSeen, Watching
from .process import Fail
from .refused import Refused

MOST_BYTES = 16 << 30
"""Of the data file; more is refused."""
INPUT = 1
"""GGML_TENSOR_FLAG_INPUT."""
VIEW_SRC, VIEW_OFFS, DATA, NAME = 38, 39, 40, 41
"""Positions in an unpacked tensor."""
IDLE = frozenset(OPS.index(op) for op in (Op.NONE, Op.RESHAPE, Op.VIEW, Op.PERMUTE, Op.TRANSPOSE))
"""Ops that compute nothing (ggml_op_is_empty)."""


class DataFile:
    """Bytes appended to the file that the caller reads."""

    def __init__(self, descriptor: int) -> None:
        """It is empty."""
        self._descriptor, self.size = descriptor, 0

    def add(self, address: int, size: int) -> int:
        """Copy memory to the end of the file.

        Returns:
            Where it lies in the file.

        Raises:
            Refused: the file would become too large, or the disk is full.
        """
        at = self.size
        if at + size > MOST_BYTES:
            raise Refused(f"more than {MOST_BYTES >> 30} GiB would be kept; look at fewer steps or nodes")
        try:
            view = memoryview((C.c_char * size).from_address(address)).cast("B") if size else memoryview(b"")
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            raise Refused(f"the values of nodes cannot be kept: {error.strerror}") from None
        self.size += size
        return at


class Watch:
    """The eval callback. llama.cpp asks it before each node; only a yes makes the scheduler stop there.

    In a step that is looked at every answer is yes, so that at each question everything before has been computed and
    the sources can be read before the node writes over one of them.

    Attributes:
        callback: for `llama_context_params.cb_eval`; llama.cpp gives it to the scheduler anew for each graph.
        inputs: as in `RawStep`, of the current step.
        nodes: likewise.
    """

    def __init__(self, library: C.CDLL, watching: Watching, data: DataFile, fail: Fail) -> None:
        """Nothing is looked at before `begin`."""
        self._library, self._watching, self._data, self._fail = library, watching, data, fail
        self._ops, self._names = frozenset(watching.ops), frozenset(watching.names)
        self._steps = frozenset(watching.steps)
        self._looking = False
        self._sched: abi.Sched | None = None
        self._graph, self._index = -1, 0
        self._src: list[RawSeen | None] | None = None
        self.inputs: list[tuple[int, RawSeen]] = []
        self.nodes: list[RawNode] = []
        self.callback = more.EVAL_CALLBACK(self._guarded)

    def begin(self, sched: abi.Sched, step: int) -> None:
        """A llama_decode is about to be called."""
        self._sched, self._looking = sched, step in self._steps
        self._graph, self._src, self.inputs, self.nodes = -1, None, [], []

    def _guarded(self, tensor: int, ask: bool, _: object) -> bool:
        try:
            return self._called(tensor, ask)
        except Exception as error:
            self._fail(error)
            return False

    def _called(self, tensor: int, ask: bool) -> bool:
        if ask:
            self._asked(tensor)
        elif self._src is not None:
            self.nodes.append(RawNode(self._graph, self._index, self._seen(_read(tensor)), self._src))
        return self._looking or not ask

    def _asked(self, tensor: int) -> None:
        sched = self._sched
        assert sched is not None
        if tensor == _first_node(sched):
            self._graph, self._index = self._graph + 1, 0
            if self._watching.inputs:
                leafs = map(_read, _pointers(sched.graph.leafs, sched.graph.n_leafs))
                found = [self._seen(leaf) for leaf in leafs if leaf[27] & INPUT and leaf[DATA]]
                self.inputs += [(self._graph, leaf) for leaf in found]
        else:
            self._index += 1
        self._src = None
        if self._looking:
            fields = _read(tensor)
            if self._is_wanted(fields):
                self._src = self._sources(fields)

    def _is_wanted(self, fields: tuple[Any, ...]) -> bool:
        op, flags = fields[10], fields[27]
        if op in IDLE or not flags & abi.FLAG_COMPUTE or 0 in fields[2:6]:
            return False
        return (not self._ops or op in self._ops) and (not self._names or _name(fields) in self._names)

    def _sources(self, fields: tuple[Any, ...]) -> list[RawSeen | None]:
        pointers = list(fields[28:38])
        while pointers and not pointers[-1]:
            pointers.pop()
        return [self._seen(_read(pointer)) if pointer else None for pointer in pointers]

    def _seen(self, fields: tuple[Any, ...]) -> RawSeen:
        """A tensor with its bytes of this moment. A weight stays where it is."""
        kind, buffer, ne, nb = fields[0], fields[1], fields[2:6], fields[6:10]
        at = -1
        weights = buffer and self._library.ggml_backend_buffer_get_usage(buffer) == abi.USAGE_WEIGHTS
        if not weights or fields[VIEW_SRC]:
            at = self._data.add(fields[DATA], nbytes(TYPES[kind], ne, nb))
        return RawSeen(_name(fields), fields[10], kind, ne, nb, fields[11:27], fields[27], at)


def _read(tensor: int) -> tuple[Any, ...]:
    return abi.TENSOR.unpack(C.string_at(tensor, abi.TENSOR.size))


def _name(fields: tuple[Any, ...]) -> str:
    name: bytes = fields[NAME].split(b"\0", 1)[0]
    return name.decode("utf-8", "replace")


def _first_node(sched: abi.Sched) -> int:
    split = abi.Split.from_address(sched.splits)
    return abi.PTR.from_address(split.graph.nodes).value or 0


def _pointers(address: int | None, n: int) -> list[int]:
    return list((abi.SIZE * n).from_address(address)) if address and n else []
