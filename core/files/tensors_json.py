"""The `tensors` of a graph file: references, defaults, shapes, strides and views, all checked."""

from __future__ import annotations

from ..dtypes import DTYPES, F32, DType, Shape, contiguous, nbytes
from ..errors import InputError, nearest
from ..op import VIEW_OPS, Op
from ..tensor import MAX_DIMS, MAX_NAME, MAX_OP_PARAMS, MAX_SRC, Flag, Tensor
from .backends_json import MAX_SIZE, Devices
from .graph_schema import TensorDoc

MAX_LAYERS = 10_000
"""More than any model has, and what the digits of a layer in a name can say."""

MAX_LABEL = 200

_FLAGS = {name.lower(): int(flag) for name, flag in Flag.__members__.items()}


class Tensors:
    """The tensors of one graph while they are being read."""

    def __init__(self, docs: list[TensorDoc], devices: Devices) -> None:
        """Index the names."""
        self.docs = docs
        self.devices = devices
        self.index: dict[str, int] = {}
        self.contiguous: dict[tuple[int, ...], tuple[DType, Shape, Shape, int]] = {}
        for i, doc in enumerate(docs):
            if not doc.name:
                continue
            if doc.name in self.index:
                raise InputError(f"tensors[{i}]: the name {doc.name!r} is taken by tensors[{self.index[doc.name]}]")
            _check_name(doc.name, i)
            self.index[doc.name] = i

    def find(self, reference: str | int, where: str) -> int:
        """The id behind a name or an index."""
        if isinstance(reference, str):
            found = self.index.get(reference, -1)
            if found < 0:
                raise InputError(f"{where}: no tensor is named {reference!r}{nearest(reference, self.index)}")
            return found
        if not 0 <= reference < len(self.docs):
            raise InputError(f"{where}: there is no tensor number {reference}, the graph has {len(self.docs)}")
        return reference

    def build(self) -> tuple[Tensor, ...]:
        """All tensors, sources before users whatever the order in the file."""
        sources = []
        bases = []
        for i, doc in enumerate(self.docs):
            plain = doc.src is None and doc.view_src is None and doc.op is Op.NONE and not doc.view_offs
            src = () if plain else self._sources(i, doc)
            sources.append(src)
            bases.append(-1 if plain else self._base(i, doc, src))
        built: list[Tensor | None] = [None] * len(self.docs)
        for i in self._order([self._before(i, src) for i, src in enumerate(sources)], bases):
            built[i] = self._tensor(i, sources[i], bases[i], built)
        return tuple(tensor for tensor in built if tensor is not None)

    def _at(self, i: int) -> str:
        return f"tensor {self.docs[i].name!r}" if self.docs[i].name else f"tensors[{i}]"

    def _sources(self, i: int, doc: TensorDoc) -> tuple[int, ...]:
        given = doc.src
        if given is None:
            if doc.op not in VIEW_OPS or doc.view_src is None:
                return ()
            given = [doc.view_src]
        if len(given) > MAX_SRC:
            raise InputError(f"{self._at(i)}: {len(given)} sources, ggml allows {MAX_SRC}")
        index = self.index
        found = []
        for one in given:
            known = index.get(one, -1) if type(one) is str else -1
            if known < 0 and one is not None:
                known = self.find(one, f"{self._at(i)}: src")
            found.append(known)
        return tuple(found)

    def _base(self, i: int, doc: TensorDoc, src: tuple[int, ...]) -> int:
        if doc.view_src is not None:
            return self.find(doc.view_src, f"{self._at(i)}: view_src")
        if doc.op in VIEW_OPS:
            if not src or src[0] < 0:
                raise InputError(f"{self._at(i)}: {doc.op} needs a source to view")
            return src[0]
        if doc.view_offs:
            raise InputError(f"{self._at(i)}: view_offs without view_src")
        return -1

    def _before(self, i: int, src: tuple[int, ...]) -> tuple[int, ...]:
        """The sources that must come first: ggml_cast makes a CPY whose second source is the CPY itself."""
        if i in src and self.docs[i].op is Op.CPY and src.index(i) > 0:
            return tuple(s for s in src if s != i)
        return src

    def _order(self, sources: list[tuple[int, ...]], bases: list[int]) -> list[int] | range:
        """Ids with sources and view bases first.

        Raises:
            InputError: a cycle, with its path.
        """
        if all(bases[i] < i and all(s < i for s in src) for i, src in enumerate(sources)):
            return range(len(sources))
        order: list[int] = []
        state = bytearray(len(sources))  # 0 new, 1 on the path, 2 listed
        for start in range(len(sources)):
            if state[start]:
                continue
            state[start] = 1
            path = [start]
            todo = [iter((*sources[start], bases[start]))]
            while path:
                for one in todo[-1]:
                    if one < 0 or state[one] == 2:
                        continue
                    if state[one] == 1:
                        raise InputError(f"tensors: a cycle: {self._cycle(path, one)}")
                    state[one] = 1
                    path.append(one)
                    todo.append(iter((*sources[one], bases[one])))
                    break
                else:
                    todo.pop()
                    listed = path.pop()
                    state[listed] = 2
                    order.append(listed)
        return order

    def _cycle(self, path: list[int], back_to: int) -> str:
        """The cycle in words: "a reads b reads a", the middle left out when it is long."""
        ring = [*path[path.index(back_to) :], back_to]
        names = [self.docs[i].name or f"tensors[{i}]" for i in ring]
        if len(names) > 12:
            names = [*names[:5], f"... {len(names) - 10} more ...", *names[-5:]]
        return " reads ".join(names)

    def _tensor(self, i: int, src: tuple[int, ...], base_id: int, built: list[Tensor | None]) -> Tensor:
        doc = self.docs[i]
        base = built[base_id] if base_id >= 0 else None
        dtype, ne, nb, size = self._layout(i, doc, src, base, built)
        view_src, view_offs = -1, 0
        if base is not None:
            view_src = base.view_src if base.view_src >= 0 else base_id
            view_offs = doc.view_offs + base.view_offs
            if not 0 <= view_offs <= MAX_SIZE:
                raise InputError(f"{self._at(i)}: view_offs {doc.view_offs} is not between 0 and 2^53 bytes")
        buft, is_weight = (-1, False) if doc.weight_of is None and doc.alloc_in is None else self._buffer(i, doc)
        pin = -1 if doc.pin is None else self._pin(i, doc.pin)
        if doc.buffer_id and not 0 <= doc.buffer_id < len(self.devices.backends):
            raise InputError(
                f"{self._at(i)}: buffer_id {doc.buffer_id}, there are {len(self.devices.backends)} buffers"
            )
        if doc.layer is not None and not 0 <= doc.layer < MAX_LAYERS:
            raise InputError(f"{self._at(i)}: layer {doc.layer} is not between 0 and {MAX_LAYERS - 1}")
        if not doc.label.isprintable() or len(doc.label) > MAX_LABEL:
            raise InputError(f"{self._at(i)}: a label has up to {MAX_LABEL} characters that can be printed")
        params, data = self._words(i, doc) if doc.op_params or doc.data is not None else ((), None)
        return Tensor(
            doc.name, doc.op, dtype, ne, nb, src, size, view_src, view_offs,
            sum({_FLAGS[flag] for flag in doc.flags}) if doc.flags else 0,
            params, buft, is_weight, pin, doc.buffer_id, data,
            -1 if doc.layer is None else doc.layer, doc.label,
        )  # fmt: skip

    def _pin(self, i: int, name: str) -> int:
        backends = self.devices.backend_index
        if name not in backends:
            raise InputError(f"{self._at(i)}: pin: no backend is named {name!r}{nearest(name, backends)}")
        return backends[name]

    def _layout(
        self, i: int, doc: TensorDoc, src: tuple[int, ...], base: Tensor | None, built: list[Tensor | None]
    ) -> tuple[DType, Shape, Shape, int]:
        """Type, ne, nb and bytes; most tensors are contiguous and share few shapes, so those are remembered."""
        first = built[src[0]] if src and src[0] >= 0 else None
        dtype = self._dtype(i, doc, base)
        given = doc.ne
        if doc.nb is None and (base is None or given is not None):
            key = (dtype.id, *(given if given is not None else first.ne if first is not None else (1,)))
            known = self.contiguous.get(key)
            if known is None:
                ne = self._shape(i, doc, first)
                nb = contiguous(dtype, ne)
                known = self.contiguous[key] = dtype, ne, nb, self._checked_size(i, dtype, ne, nb)
            return known
        ne = self._shape(i, doc, base or first)
        if doc.op in (Op.PERMUTE, Op.TRANSPOSE) and doc.ne is None and doc.nb is None and first is not None:
            ne, nb = _permuted(self._axes(i, doc), first)
        else:
            nb = self._strides(i, doc, dtype, ne, base)
        return dtype, ne, nb, self._checked_size(i, dtype, ne, nb)

    def _checked_size(self, i: int, dtype: DType, ne: Shape, nb: Shape) -> int:
        if dtype.block > 1 and ne[0] % dtype.block:
            raise InputError(
                f"{self._at(i)}: ne[0] is {ne[0]}, a row of {dtype.name} is a multiple of {dtype.block} elements"
            )
        size = nbytes(dtype, ne, nb)
        if size > MAX_SIZE:
            raise InputError(f"{self._at(i)}: {size} bytes is more than 2^53, no memory holds it")
        return size

    def _dtype(self, i: int, doc: TensorDoc, base: Tensor | None) -> DType:
        if doc.type is None:
            return F32 if base is None else base.dtype
        found = DTYPES.get(doc.type)
        if found is None:
            raise InputError(f"{self._at(i)}: {doc.type!r} is not a ggml type{nearest(doc.type, DTYPES)}")
        return found

    def _shape(self, i: int, doc: TensorDoc, like: Tensor | None) -> Shape:
        ne = doc.ne
        if ne is None:
            return like.ne if like is not None else (1, 1, 1, 1)
        if not 1 <= len(ne) <= MAX_DIMS:
            raise InputError(f"{self._at(i)}: ne has {len(ne)} dimensions, ggml has 1 to {MAX_DIMS}")
        if min(ne) < 0 or max(ne) > MAX_SIZE:
            bad = next(value for value in ne if not 0 <= value <= MAX_SIZE)
            raise InputError(f"{self._at(i)}: ne {ne}: {bad} is not between 0 and 2^53")
        n0, n1, n2, n3 = (*ne, 1, 1, 1)[:MAX_DIMS]
        return n0, n1, n2, n3

    def _strides(self, i: int, doc: TensorDoc, dtype: DType, ne: Shape, base: Tensor | None) -> Shape:
        if doc.nb is None:
            assert base is not None, "a tensor without base and strides is contiguous"
            return base.nb
        nb = list(doc.nb)
        if not 1 <= len(nb) <= MAX_DIMS:
            raise InputError(f"{self._at(i)}: nb has {len(nb)} strides, ggml has 1 to {MAX_DIMS}")
        for value in nb:
            if not 0 <= value <= MAX_SIZE:
                raise InputError(f"{self._at(i)}: nb {nb}: {value} is not between 0 and 2^53 bytes")
        while len(nb) < MAX_DIMS:
            k = len(nb)
            nb.append(nb[k - 1] * (ne[0] // dtype.block if k == 1 else ne[k - 1]))
        return nb[0], nb[1], nb[2], nb[3]

    def _axes(self, i: int, doc: TensorDoc) -> list[int]:
        if doc.op is Op.TRANSPOSE:
            return [1, 0, 2, 3]
        axes = [*doc.op_params, 0, 0, 0, 0][:MAX_DIMS]
        if sorted(axes) != [0, 1, 2, 3]:
            raise InputError(f"{self._at(i)}: op_params {axes} are not a permutation of the axes 0 to 3")
        return axes

    def _buffer(self, i: int, doc: TensorDoc) -> tuple[int, bool]:
        name = doc.weight_of if doc.weight_of is not None else doc.alloc_in
        if doc.weight_of is not None and doc.alloc_in is not None:
            raise InputError(f"{self._at(i)}: weight_of and alloc_in exclude each other")
        index = self.devices.buft_index
        if name is None or name not in index:
            raise InputError(f"{self._at(i)}: {name!r} is not a buffer type of this file{nearest(name or '', index)}")
        return index[name], doc.weight_of is not None

    def _words(self, i: int, doc: TensorDoc) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        """op_params and data as int32."""
        if len(doc.op_params) * 4 > MAX_OP_PARAMS:
            raise InputError(f"{self._at(i)}: {len(doc.op_params)} op_params, ggml has room for {MAX_OP_PARAMS // 4}")
        for value in doc.op_params if doc.data is None else (*doc.op_params, *doc.data):
            if not -(1 << 31) <= value < 1 << 31:
                raise InputError(f"{self._at(i)}: {value} is not an int32")
        return tuple(doc.op_params), None if doc.data is None else tuple(doc.data)


def _permuted(axes: list[int], source: Tensor) -> tuple[Shape, Shape]:
    """Dimension i of the source becomes dimension axes[i] (ggml_permute)."""
    ne, nb = [0] * MAX_DIMS, [0] * MAX_DIMS
    for i, axis in enumerate(axes):
        ne[axis] = source.ne[i]
        nb[axis] = source.nb[i]
    return (ne[0], ne[1], ne[2], ne[3]), (nb[0], nb[1], nb[2], nb[3])


def _check_name(name: str, i: int) -> None:
    if len(name) >= MAX_NAME or (not name.isascii() and len(name.encode()) >= MAX_NAME):
        raise InputError(f"tensors[{i}]: the name {name[:40]!r}... is longer than {MAX_NAME - 1} bytes")
    if not name.isprintable():
        raise InputError(f"tensors[{i}]: the name {name!r} has characters that cannot be printed")
    if "#" in name or name.endswith(" (view)"):
        raise InputError(
            f"tensors[{i}]: the name {name!r} looks like one the scheduler makes (no '#', no final ' (view)')"
        )
