"""A graph document as real ``ggml_tensor`` structs and a real ``ggml_cgraph``.

Written against the format description alone, without galloscope's own reader, so that the two can be compared.
"""

import ctypes as C
from collections.abc import Callable
from typing import Any

from galloscope.benchmarks import ggml_abi as abi
from galloscope.benchmarks.ggml_devices import Document, Machine
from galloscope.core.native import layouts

VIEW_OPS = ("VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE")
FLAGS = {"input": 1, "output": 2, "param": 4, "loss": 8}


class RealGraph:
    """Tensors and graph of one run. :meth:`restore` undoes what the scheduler and the allocator wrote into them."""

    def __init__(self, machine: Machine, document: Document, order: str) -> None:
        """Lay out the tensors of a document's ``tensors`` and ``outputs``."""
        self.machine, self.library = machine, machine.library
        self.documents: list[Document] = document["tensors"]
        self.index = {t["name"]: i for i, t in enumerate(self.documents)}
        self.tensors = (abi.Tensor * len(self.documents))()
        self._base = C.addressof(self.tensors)
        self._done = bytearray(len(self.documents))
        for i in range(len(self.documents)):
            self._resolve(i)
        self._roots = [self._root(output) for output in document["outputs"]]
        self._order = order
        self._saved = bytes(self.tensors)
        room = len(self.documents) + 16
        memory = int(self.library.ggml_graph_overhead_custom(room, False)) + 1024
        self._memory = C.create_string_buffer(memory)
        self._context = self.library.ggml_init(abi.InitParams(memory, C.addressof(self._memory), True))
        self.pointer = int(self.library.ggml_new_graph_custom(self._context, room, False))
        self._empty = bytes(self._memory)

    def address(self, index: int) -> int:
        """The address of the tensor with this index in the document."""
        return self._base + index * C.sizeof(abi.Tensor)

    def number(self, reference: str | int) -> int:
        """The index behind a name or an index."""
        return self.index[reference] if isinstance(reference, str) else reference

    def restore(self) -> None:
        """Make tensors and graph new again: the scheduler rewrites sources, the allocator addresses."""
        C.memmove(self._base, self._saved, len(self._saved))
        C.memmove(self._memory, self._empty, len(self._empty))

    def build(self) -> None:
        """``ggml_build_forward_expand`` of every root, or ``_order`` where the root is not to be computed."""
        for function, address in self._roots:
            function(self.pointer, address)

    def _root(self, output: Any) -> tuple[Callable[[int, int], None], int]:
        computed = not isinstance(output, dict) or output.get("compute", True)
        name = output["name"] if isinstance(output, dict) else output
        library = self.library
        function = library.ggml_build_forward_expand if computed else library.ggml_build_forward_order
        return function, self.address(self.number(name))

    def prepare(self) -> None:
        """A new graph object, ready for :meth:`build`."""
        self.restore()
        layouts.Graph.from_address(self.pointer).order = int(self._order == "right_to_left")

    def close(self) -> None:
        """Free the ggml context; its memory goes with this object."""
        self.library.ggml_free(self._context)

    def _resolve(self, start: int) -> None:
        """Fill in one tensor, after those whose shape it takes."""
        stack = [start]
        while stack:
            i = stack[-1]
            document = self.documents[i]
            op = document.get("op", "NONE")
            sources = [s if s is None else self.number(s) for s in document.get("src", ())]
            base = document.get("view_src")
            if base is None and op in VIEW_OPS:
                base = sources[0]
            base = base if base is None else self.number(base)
            first = base if base is not None else next((s for s in sources if s is not None), None)
            if self._done[i]:
                stack.pop()
            elif first is not None and not self._done[first]:
                stack.append(first)
            else:
                if not sources and op in VIEW_OPS:
                    sources = [base]
                self._fill(i, op, sources, base, first)
                self._done[i] = 1
                stack.pop()

    def _fill(self, i: int, op: str, sources: list[int | None], base: int | None, first: int | None) -> None:
        document, tensor = self.documents[i], self.tensors[i]
        model = None if first is None else self.tensors[first]
        tensor.name = document["name"].encode()
        tensor.op = self.machine.ops[op]
        tensor.flags = sum(FLAGS[flag] for flag in document.get("flags", ()))
        for k, value in enumerate(document.get("op_params", ())):
            tensor.op_params[k] = value
        for k, source in enumerate(sources):
            if source is not None:
                tensor.src[k] = self.address(source)
        if "type" in document:
            tensor.type = self.machine.types[document["type"]]
        elif base is not None:
            tensor.type = self.tensors[base].type
        self._shape(document, tensor, op, model if base is not None else None, model)
        if base is not None:
            parent = self.tensors[base]
            tensor.view_offs = document.get("view_offs", 0) + (parent.view_offs if parent.view_src else 0)
            tensor.view_src = parent.view_src or self.address(base)
            root = abi.Tensor.from_address(tensor.view_src)
            if root.data:
                tensor.data = root.data + tensor.view_offs
        for kind in ("weight_of", "alloc_in"):
            if kind in document:
                tensor.buffer = self.machine.external_buffer(document[kind], kind)
                tensor.data = 1 << 40  # anything but NULL: never read

    def _shape(self, document: Document, tensor: Any, op: str, parent: Any, model: Any) -> None:
        given, strides = document.get("ne"), document.get("nb")
        if given is None and strides is None and parent is not None:
            axes = list(range(4))
            if op == "TRANSPOSE":
                axes = [1, 0, 2, 3]
            elif op == "PERMUTE":
                axes = list(tensor.op_params[:4])
            for k, axis in enumerate(axes):
                tensor.ne[axis], tensor.nb[axis] = parent.ne[k], parent.nb[k]
            return
        shape = list(given) + [1] * (4 - len(given)) if given is not None else list(model.ne)
        block = int(self.library.ggml_blck_size(tensor.type))
        full = list(strides) if strides is not None else [int(self.library.ggml_type_size(tensor.type))]
        while len(full) < 4:
            rows = shape[0] // block if len(full) == 1 else shape[len(full) - 1]
            full.append(full[-1] * rows)
        for k in range(4):
            tensor.ne[k], tensor.nb[k] = shape[k], full[k]
