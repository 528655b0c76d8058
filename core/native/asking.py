"""From a ggml_tensor in memory to a profile's answer, remembered per signature so that 10,000 nodes stay fast."""

from __future__ import annotations

import ctypes as C
from collections.abc import Callable
from typing import Any, NamedTuple

from ..devices.profile import Profile
from ..devices.seen import Seen
from ..dtypes import DTYPES
from ..op import Op
from . import layouts as abi

OPS = list(Op)
TYPES = {dtype.id: dtype for dtype in DTYPES.values()}


class Lies(NamedTuple):
    """A buffer type: name, key of the profile that made it, whether the CPU can read it."""

    name: str
    maker: str
    host: bool


NOWHERE = Lies("", "", False)
NO_BUFFER = bytes(8)


class Asking:
    """Builds `Seen` objects and remembers the answers.

    Attributes:
        on_support: called before each supports_op is answered, None for nothing.
    """

    def __init__(self, library: C.CDLL, fail: Callable[[Exception], None]) -> None:
        """Nothing is known yet; `fail` is told of an exception in a callback, which C cannot pass on."""
        self.library, self.fail = library, fail
        self.on_support: Callable[[], None] | None = None
        cpu = library.ggml_backend_cpu_buffer_type()
        self._lies = {cpu: Lies("CPU", "cpu", True)}
        self._supports: dict[tuple[Profile, str, tuple[Any, ...]], bool] = {}
        self._offloads: dict[tuple[Profile, tuple[Any, ...]], bool] = {}
        self._sizes: dict[tuple[Profile, tuple[Any, ...]], int] = {}

    def guarded(self, function: Callable[..., Any], result: Any) -> Callable[..., Any]:
        """The function for C; `fail` does not return where an answer is needed."""
        nothing = None if result in (None, abi.PTR) else 0

        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Exception as error:
                self.fail(error)
                return nothing

        return call

    def know(self, buft: int, name: str, maker: str, host: bool) -> None:
        """A buffer type of ours."""
        self._lies[buft] = Lies(name, maker, host)

    def lies(self, buft: int) -> Lies:
        """Any buffer type, ours or llama.cpp's own."""
        if buft not in self._lies:
            library = self.library
            name = library.ggml_backend_buft_name(buft).decode()
            self._lies[buft] = Lies(name, "", bool(library.ggml_backend_buft_is_host(buft)))
        return self._lies[buft]

    def known(self) -> list[int]:
        """Every buffer type met so far."""
        return list(self._lies)

    # the three questions

    def supports(self, profile: Profile, name: str, tensor: int) -> bool:
        """ggml_backend_dev_supports_op of the device called `name`."""
        if self.on_support is not None:
            self.on_support()
        key = profile, name, self._signature(tensor)
        answer = self._supports.get(key)
        if answer is None:
            answer = self._supports[key] = not profile.supports(self._seen(key[2]), profile.buft_of(name))
        return answer

    def offloads(self, profile: Profile, tensor: int) -> bool:
        """ggml_backend_dev_offload_op."""
        key = profile, self._signature(tensor)
        answer = self._offloads.get(key)
        if answer is None:
            answer = self._offloads[key] = not profile.offload(self._seen(key[1]))
        return answer

    def alloc_size(self, profile: Profile, tensor: int) -> int:
        """ggml_backend_buft_get_alloc_size; an op without scratch is known by its type, shape and strides."""
        head = C.string_at(tensor, abi.OP_AT + 4)
        scratch = OPS[int.from_bytes(head[abi.OP_AT :], "little")] in profile.extra
        key = profile, self._signature(tensor) if scratch else (head[:4], head[16:])
        answer = self._sizes.get(key)
        if answer is None:
            answer = self._sizes[key] = profile.alloc_size(self._seen(self._signature(tensor)))
        return answer

    # reading

    def _signature(self, tensor: int) -> tuple[Any, ...]:
        """All that a profile may look at, as plain values.

        That is (fields, place, owner, offset, is view) of the tensor and of each source. Owners are numbered in the
        order in which they are met: only their equality counts.
        """
        string_at, unpack = C.string_at, abi.TENSOR_SOURCES.unpack_from
        data = string_at(tensor, abi.NAME_AT)
        *sources, view_src, view_offs = unpack(data, abi.SOURCES_AT)
        while sources and not sources[-1]:
            sources.pop()
        owners = {view_src or tensor: 0}
        parts: list[Any] = [(data[:4] + data[16 : abi.SOURCES_AT], self._lies_of(data), 0, view_offs, bool(view_src))]
        for source in sources:
            if not source:
                parts.append(None)
                continue
            data = string_at(source, abi.NAME_AT)
            *_, view_src, view_offs = unpack(data, abi.SOURCES_AT)
            owner = owners.setdefault(view_src or source, len(owners))
            lies = self._lies_of(data) if data[8:16] != NO_BUFFER else NOWHERE
            parts.append((data[:4] + data[16 : abi.SOURCES_AT], lies, owner, view_offs, bool(view_src)))
        return tuple(parts)

    def _lies_of(self, data: bytes) -> Lies:
        """Where a tensor lies, from its first bytes. A buffer's address may have another buffer the next time."""
        buffer = int.from_bytes(data[8:16], "little")
        return self.lies(abi.PTR.from_address(buffer + abi.BUFFER_BUFT_AT).value or 0) if buffer else NOWHERE

    def _seen(self, signature: tuple[Any, ...]) -> Seen:
        first, *rest = signature
        return _see(first, tuple(None if one is None else _see(one, ()) for one in rest))


def _see(one: tuple[bytes, Lies, int, int, bool], src: tuple[Seen | None, ...]) -> Seen:
    fields, lies, owner, offset, is_view = one
    kind, ne0, ne1, ne2, ne3, nb0, nb1, nb2, nb3, op, *params, flags = abi.TENSOR_FIELDS.unpack(fields)
    while params and not params[-1]:
        params.pop()
    return Seen(
        OPS[op], TYPES[kind], (ne0, ne1, ne2, ne3), (nb0, nb1, nb2, nb3), tuple(params), src,
        flags & ~abi.FLAG_COMPUTE, owner, offset, lies.name, lies.maker, lies.host, is_view=is_view,
    )  # fmt: skip
