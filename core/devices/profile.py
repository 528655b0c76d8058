"""What a device is, as data and small functions: limits, rules per op with the sentence of a refusal, sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..dtypes import contiguous
from ..errors import InputError, nearest
from ..op import Op
from .seen import MissingSource, Seen

Rule = Callable[[Seen, "Profile"], str]
"""Why the device cannot run the op: one sentence that starts with the op's name and has the values; "" when it can.

The first line of its docstring says what it asks of the op, for people; the rest names the source.
"""

Extra = Callable[[Seen, "Profile"], int]
"""Bytes behind the result of an op (scratch of its kernel)."""

OWN_LIMITS = ("align", "max_size", "pad_quant")
"""Fields of a profile that `limits` may override, beside the profile's own named ones."""


def anything(op: Seen, device: Profile) -> str:
    """The rule of an op that is supported whatever its arguments."""
    return ""


def unknown(op: Seen, device: Profile) -> str:
    """The rule of an op that the device has no kernel for."""
    return f"{op.op}: {device.title} has no kernel for it"


def own_only(device: Profile, own: str, buft: str, host: bool) -> bool:
    """Reads nothing but its own buffer type."""
    return buft == own


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One kind of device.

    Attributes:
        name: key in `DEVICES`, and in `--device cuda:24GiB`.
        title: for sentences, such as "CUDA".
        backend: llama.cpp's name of the device without its number.
        type: cpu, gpu, igpu or accel.
        memory: bytes assumed when the user names none.
        source: the functions the rules were read from, and the version of ggml.
        rules: the ops that `supports_op` names.
        other: the rule of every op it does not name (the `default` label).
        numbered: devices of this kind are called CUDA0, CUDA1, ...; false for the one CPU.
        align: bytes, a power of two (ggml_backend_buft_get_alignment).
        max_size: largest single buffer in bytes, None for endless (ggml_backend_buft_get_max_size).
        pad_quant: quantised rows are padded to a multiple of this many elements; 0 for none.
        host: the CPU can read its default buffer type.
        buft: name of its default buffer type; "" when that is called like the device.
        host_buft: name of its pinned host buffer type, "" for none.
        extra_bufts: names of further buffer types for weights.
        is_async: it queues work.
        has_events: it can record events.
        named: limits of its own that the rules read, by name.
        units: what each of those is, in words.
        own_sources: it refuses ops with sources in the memory of another device of its kind.
        first: checked before the rule of the op.
        takes: why it does not want the op of a host weight (offload_op); None when it never wants one.
        extra: scratch bytes per op.
        reads: (profile, own buffer type, buffer type, is host) -> it can use tensors there (supports_buft).
        left_out: ops that `supports_op` names and `rules` deliberately does not, with the reason.
        simplified: sentences: what is not simulated.
        changed: the limits that were overridden, by name (max_size 0: endless).
    """

    name: str
    title: str
    backend: str
    type: str
    memory: int
    source: str
    rules: Mapping[Op, Rule]
    other: Rule = unknown
    numbered: bool = True
    align: int = 32
    max_size: int | None = None
    pad_quant: int = 0
    host: bool = False
    buft: str = ""
    host_buft: str = ""
    extra_bufts: tuple[str, ...] = ()
    is_async: bool = False
    has_events: bool = False
    named: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    own_sources: bool = False
    first: Rule = anything
    takes: Rule | None = None
    extra: Mapping[Op, Extra] = field(default_factory=dict)
    reads: Callable[[Profile, str, str, bool], bool] = own_only
    left_out: Mapping[Op, str] = field(default_factory=dict)
    simplified: tuple[str, ...] = ()
    changed: Mapping[str, int] = field(default_factory=dict)

    def supports(self, op: Seen, own: str = "") -> str:
        """Why it cannot run the op (ggml_backend_dev_supports_op), "" when it can.

        Args:
            op: the op.
            own: name of the default buffer type of the device asked, for profiles with `own_sources`; "" when there is
                but one of the kind.
        """
        for slot, source in enumerate(op.src if self.own_sources and own else ()):
            if source is not None and source.maker == self.name and source.buft not in (own, self.host_buft):
                return f"{op.op}: source {slot} lies in {source.buft}, the memory of another {self.title} device"
        try:
            return self.first(op, self) or self.rules.get(op.op, self.other)(op, self)
        except MissingSource as error:
            return str(error)

    def offload(self, op: Seen) -> str:
        """Why it does not take the op over from the CPU (ggml_backend_dev_offload_op), "" when it does."""
        if self.takes is None:
            return f"{op.op}: {self.title} takes nothing over from the CPU"
        return self.takes(op, self)

    def scratch(self, op: Seen) -> int:
        """Bytes that the op's kernel needs behind the result.

        Raises:
            MissingSource: they depend on a source that is not there.
        """
        grow = self.extra.get(op.op)
        return grow(op, self) if grow is not None else 0

    def alloc_size(self, op: Seen) -> int:
        """Bytes it takes in the default buffer type (ggml_backend_buft_get_alloc_size), unrounded.

        Raises:
            MissingSource: the kernel's scratch depends on a source that is not there.
        """
        size = op.nbytes + self.scratch(op)
        if self.pad_quant and op.dtype.quantized and op.ne[0] % self.pad_quant:
            size += contiguous(op.dtype, (self.pad_quant - op.ne[0] % self.pad_quant, 1, 1, 1))[1]
        return size

    def supports_buft(self, own: str, buft: str, host: bool) -> bool:
        """Can the device called `own` use tensors in buffer type `buft`? (ggml_backend_dev_supports_buft)."""
        return self.reads(self, self.buft_of(own), buft, host)

    def buft_of(self, own: str) -> str:
        """Name of the default buffer type of the device called `own`."""
        return self.buft or own

    def limits(self) -> dict[str, int | None]:
        """Everything a user may override, by name."""
        return {"align": self.align, "max_size": self.max_size, "pad_quant": self.pad_quant, **self.named}

    def with_limits(self, limits: Mapping[str, int], memory: int | None = None) -> Profile:
        """The same profile with some limits overridden.

        Raises:
            InputError: a limit is unknown or out of range.
        """
        known = self.limits()
        for name, value in limits.items():
            if name not in known:
                raise InputError(
                    f"device {self.name}: {name!r} is not a limit of it{nearest(name, known)}; "
                    f"known: {', '.join(sorted(known))}"
                )
            if not 0 <= value <= 1 << 53:
                raise InputError(f"device {self.name}: {name}={value} is not between 0 and 2^53")
        align = limits.get("align", self.align)
        if align < 1 or align & (align - 1) or align > 1 << 30:
            raise InputError(f"device {self.name}: align={align} is not a power of two up to 2^30")
        pad = limits.get("pad_quant", self.pad_quant)
        if pad > 1 << 30:
            raise InputError(f"device {self.name}: pad_quant={pad} is not between 0 and 2^30 elements")
        return replace(
            self,
            align=align,
            max_size=limits["max_size"] or None if "max_size" in limits else self.max_size,
            pad_quant=pad,
            named={name: limits.get(name, value) for name, value in self.named.items()},
            changed={**self.changed, **{name: value for name, value in limits.items() if value != (known[name] or 0)}},
            memory=self.memory if memory is None else memory,
        )
