"""Everything that lies on each device and on the host, and what is left: llama.cpp's memory breakdown, in bytes.

Sources: llama_context::memory_breakdown, common_memory_breakdown_print (common/fit.cpp).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..state import State
from .machine import machine
from .taken import Taken

MIB = 1 << 20


class Total(msgspec.Struct, frozen=True):
    """One row; all sizes in bytes.

    Attributes:
        name: of a device, `Host`, or a buffer type that is neither a device's nor readable by the CPU.
        kind: `device`, `host` or `buffer_type`, as llama.cpp calls them.
        title: what kind of device.
        memory: of the device or the host, None for a buffer type.
        weights: of the model.
        kv: KV cache.
        recurrent: recurrent state.
        compute: the largest compute buffer of the graphs.
        output: output buffer, which llama.cpp's table leaves out.
    """

    name: str
    kind: str
    title: str
    memory: int | None
    weights: int = 0
    kv: int = 0
    recurrent: int = 0
    compute: int = 0
    output: int = 0

    @property
    def context(self) -> int:
        """What llama.cpp calls context: KV cache and recurrent state."""
        return self.kv + self.recurrent

    @property
    def total(self) -> int:
        """What llama.cpp calls self: model, context and compute."""
        return self.weights + self.context + self.compute

    @property
    def free(self) -> int | None:
        """What is left of the memory, the output buffer taken off as well; negative when it does not fit."""
        return None if self.memory is None else self.memory - self.total - self.output

    def as_json(self) -> dict[str, Any]:
        """Plain values, sums included."""
        return {**msgspec.structs.asdict(self), "context": self.context, "total": self.total, "free": self.free}


def totals(taken: Taken, states: Iterable[State]) -> list[Total]:
    """A row per GPU in priority order, one for the host, one for each other buffer type.

    Args:
        taken: the model under its options.
        states: of its graphs; of each buffer the largest counts, as llama.cpp keeps one for all.
    """
    compute, host_bufts = compute_sizes(states)
    devices = machine(taken.options)
    owner = {one.buft: one.name for one in (*devices.gpus, *devices.idle)}
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in taken.memory:
        key = "Host" if row.host else owner.get(row.buft, row.buft)
        for field in ("weights", "kv", "recurrent", "output"):
            sums[key][field] += getattr(row, field)
    for buft, size in compute.items():
        sums["Host" if buft in host_bufts else owner.get(buft, buft)]["compute"] += size
    rows = [
        Total(gpu.name, "device", gpu.profile.title, gpu.profile.memory, **sums.pop(gpu.name, {}))
        for gpu in devices.gpus
    ]
    rows.append(Total("Host", "host", devices.cpu.profile.title, devices.cpu.profile.memory, **sums.pop("Host", {})))
    rows += [Total(name, "buffer_type", name, None, **sizes) for name, sizes in sums.items()]
    return rows


def compute_sizes(states: Iterable[State]) -> tuple[dict[str, int], set[str]]:
    """Bytes of the compute buffer per buffer type, the largest of the graphs; and which types the CPU can read."""
    sizes: dict[str, int] = {}
    host: set[str] = set()
    for state in states:
        for buffer in state.buffers:
            if buffer.same_as < 0:
                sizes[buffer.buft.name] = max(sizes.get(buffer.buft.name, 0), sum(buffer.chunks))
                if buffer.buft.host:
                    host.add(buffer.buft.name)
    return sizes, host


def breakdown(rows: Sequence[Total]) -> str:
    """The table as llama.cpp prints it at exit, in whole MiB; nothing is unaccounted for, and free may be negative."""
    lines = [("| {} | {}   {}    {}   {}   {}   {}    {} |", *_HEADINGS)]
    for row in rows:
        shared = (_mib(row.total), _mib(row.weights), _mib(row.context), _mib(row.compute))
        if row.kind == "device" and row.memory is not None:
            name = f"  - {row.name} ({row.title})"
            numbers = (_mib(row.memory), _mib(row.memory - row.total), *shared, "0")
            lines.append(("| {} | {} = {} + ({} = {} + {} + {}) + {} |", name, *numbers))
        else:
            lines.append(("| {} | {}   {}    {} = {} + {} + {}    {} |", f"  - {row.name}", "", "", *shared, ""))
    widths = [max(len(line[column]) for line in lines) for column in range(1, len(lines[0]))]
    return "\n".join(
        template.format(cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)))
        for template, *cells in lines
    )


_HEADINGS = ("memory breakdown [MiB]", "total", "free", "self", "model", "context", "compute", "unaccounted")


def _mib(size: int) -> str:
    """Whole MiB, towards zero as in C."""
    return str(int(size / MIB))
