"""The weights of an architecture: which there are, and those of one model as leafs of its graph."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import msgspec

from ..dtypes import Shape
from ..errors import InputError, nearest
from ..gguf.header import Header, TensorInfo
from ..ops import Lazy, new_tensor
from ..ops.layout import shape_text
from .built import INPUT_LAYER, WeightUse, Where

_WITHOUT_SCALE = ("_inp", "ssm_conv1d", "ssm_x", "ssm_dt", "ssm_a")
"""Matrices that llama.cpp reads no factor for."""


class Weight(msgspec.Struct, frozen=True):
    """One tensor that an architecture loads (llama_model::create_tensor).

    Attributes:
        name: in the GGUF.
        ne: elements per dimension.
        required: llama.cpp refuses a file without it (no TENSOR_NOT_REQUIRED).
        unless: a tensor that is loaded in place of this one when the file has it.
        only_with: a tensor without which this one is not loaded.
    """

    name: str
    ne: tuple[int, ...]
    required: bool = True
    unless: str = ""
    only_with: str = ""

    def is_loaded(self, names: Container[str]) -> bool:
        """Whether llama.cpp looks for it in a file with these tensors."""
        return self.unless not in names and (not self.only_with or self.only_with in names)


def optional(name: str, *ne: int) -> Weight:
    """A weight that may be missing."""
    return Weight(name, ne, required=False)


def with_scales(weights: Iterable[Weight]) -> list[Weight]:
    """The weights and, for each matrix, its optional `.scale` and `.input_scale` (NVFP4)."""
    found = []
    for weight in weights:
        found.append(weight)
        stem = weight.name.removesuffix(".weight")
        if len(weight.ne) > 1 and weight.name.startswith("blk.") and not stem.endswith(_WITHOUT_SCALE):
            n = weight.ne[2] if len(weight.ne) > 2 else 1
            for kind in ("scale", "input_scale"):
                found.append(Weight(f"{stem}.{kind}", (n,), required=False, only_with=weight.name))
    return found


class Weights:
    """The weights of one model, as leafs that are made when a graph asks for them."""

    def __init__(self, header: Header, known: Sequence[Weight], where: Where, n_layer: int) -> None:
        """Check the tensor table against what the architecture loads.

        Raises:
            InputError: a tensor is missing, has another shape, or is one that llama.cpp does not load.
        """
        self.where, self.n_layer = where, n_layer
        self.uses: dict[Lazy, WeightUse] = {}
        self._table: dict[str, TensorInfo] = {info.name: info for info in header.tensors}
        self._leafs: dict[tuple[str, object], Lazy] = {}
        loaded = [weight for weight in known if weight.is_loaded(self._table)]
        names = {weight.name for weight in loaded}
        for weight in loaded:
            info = self._table.get(weight.name)
            if info is None:
                if weight.required:
                    raise InputError(
                        f"tensor {weight.name!r} is missing, architecture {header.architecture!r} needs it"
                    )
            elif info.ne != _padded(weight.ne):
                wanted = shape_text(_padded(weight.ne))
                raise InputError(f"tensor {weight.name!r} is {shape_text(info.ne)}, the metadata ask for {wanted}")
        for name in self._table:
            if name not in names:
                hint = nearest(name, names)
                raise InputError(f"tensor {name!r}: architecture {header.architecture!r} has no such weight{hint}")

    def get(self, name: str, layer: int) -> Lazy | None:
        """The leaf of a weight as loaded for a layer; None when the file has none."""
        info = self._table.get(name)
        if info is None:
            return None
        use = WeightUse(name, layer)
        key = (name, self.where(use))
        leaf = self._leafs.get(key)
        if leaf is None:
            leaf = self._leafs[key] = new_tensor(info.dtype, *info.ne).set_name(name)
            self.uses[leaf] = use
        return leaf

    def need(self, name: str, layer: int) -> Lazy:
        """The leaf of a weight that is there."""
        leaf = self.get(name, layer)
        if leaf is None:
            raise InputError(f"tensor {name!r} is missing")
        return leaf

    @property
    def token_embd(self) -> Lazy:
        """The embeddings, as loaded for the input."""
        return self.need("token_embd.weight", INPUT_LAYER)

    @property
    def output_norm(self) -> Lazy:
        """The norm before the output."""
        return self.need("output_norm.weight", self.n_layer)

    @property
    def output(self) -> Lazy:
        """The output matrix: the file's own, else the embeddings once more."""
        return self.get("output.weight", self.n_layer) or self.need("token_embd.weight", self.n_layer)


class Layer:
    """The weights of one layer, by their names without `blk.N.`."""

    def __init__(self, weights: Weights, il: int) -> None:
        """Layer il of a model."""
        self.weights, self.il = weights, il

    def weight(self, name: str) -> Lazy:
        """`blk.N.NAME.weight`, which must be there."""
        return self.weights.need(f"blk.{self.il}.{name}.weight", self.il)

    def maybe(self, name: str) -> Lazy | None:
        """`blk.N.NAME.weight`, if the file has it."""
        return self.weights.get(f"blk.{self.il}.{name}.weight", self.il)

    def exact(self, name: str) -> Lazy:
        """`blk.N.NAME`, which must be there."""
        return self.weights.need(f"blk.{self.il}.{name}", self.il)

    def bias(self, name: str) -> Lazy | None:
        """`blk.N.NAME.bias`, if the file has it."""
        return self.weights.get(f"blk.{self.il}.{name}.bias", self.il)

    def scale(self, name: str) -> Lazy | None:
        """`blk.N.NAME.scale`, if the file has it."""
        return self.weights.get(f"blk.{self.il}.{name}.scale", self.il)

    def shared(self, name: str) -> Lazy | None:
        """A weight without a layer in its name that each layer loads: `rope_freqs.weight`."""
        return self.weights.get(f"{name}.weight", self.il)


def _padded(ne: tuple[int, ...]) -> Shape:
    n0, n1, n2, n3 = (*ne, 1, 1, 1)[:4]
    return n0, n1, n2, n3
