"""Weights from a model file, by name: a graph of llama.cpp names its tensors as the GGUF does."""

from __future__ import annotations

import re

from ...errors import InputError, nearest
from ...gguf.data import GgufData
from ...ops.layout import shape_text
from ...tensor import Tensor
from ..feed import Bytes, Feed, Zeros

_AGAIN = re.compile(r"~\d+$")


class GgufFeed:
    """Weights from a file, caches of zeros, inputs from another feed."""

    def __init__(self, data: GgufData, inputs: Feed | None = None) -> None:
        """A file with its data.

        Args:
            data: of the model.
            inputs: what fills everything that is no weight; zeros when there is none.
        """
        self.data, self.inputs = data, inputs or Zeros()

    def external(self, tensor: Tensor) -> Bytes | None:
        """A weight's bytes: the file's own memory; a cache as the other feed has it.

        Raises:
            InputError: the file has no such weight, or one of another type or shape.
        """
        name = self._name(tensor)
        if name is not None:
            return self._bytes(name, tensor)
        if tensor.is_weight:
            where = self.data.header.parts[0].source.where
            raise InputError(
                f"weight {tensor.name!r}: {where} has no such tensor{nearest(tensor.name, self.data.infos)}"
            )
        return self.inputs.external(tensor)

    def leaf(self, tensor: Tensor) -> Bytes | None:
        """A weight in a graph without buffers, else an input."""
        name = self._name(tensor)
        return self.inputs.leaf(tensor) if name is None else self._bytes(name, tensor)

    def _name(self, tensor: Tensor) -> str | None:
        """The tensor in the file: one that is loaded twice is `NAME~2` the second time; a label is the real name."""
        for name in (tensor.name, tensor.label, _AGAIN.sub("", tensor.name)):
            if name in self.data.infos:
                return name
        return None

    def _bytes(self, name: str, tensor: Tensor) -> Bytes:
        info = self.data.infos[name]
        if info.dtype.id != tensor.dtype.id or info.ne != tensor.ne or info.nbytes != tensor.nbytes:
            raise InputError(
                f"tensor {tensor.name!r} is {tensor.dtype.name} {shape_text(tensor.ne)} in the graph, but "
                f"{info.dtype.name} {shape_text(info.ne)} in {self.data.header.parts[0].source.where}: it is another "
                f"model's graph"
            )
        return self.data.bytes(name)
