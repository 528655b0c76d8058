"""The graph JSON as typed structs: key names, types and defaults. `graph_json.py` turns it into a Problem."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..graph import CopyCallback, Mode, Order
from ..op import Op

FlagName = Literal["input", "output", "param", "loss"]
Reference = str | int


class BuftDoc(msgspec.Struct, forbid_unknown_fields=True):
    """A buffer type that no backend owns; with a profile, that of such a device."""

    name: str
    host: bool | None = None
    align: int | None = None
    max_size: int | None = None
    pad_quant: int | None = None
    op_extra: dict[Op, int] = {}
    profile: str = ""
    limits: dict[str, int] = {}


class BackendDoc(msgspec.Struct, forbid_unknown_fields=True):
    """A backend and, inline, its own buffer type."""

    name: str
    type: Literal["cpu", "gpu", "igpu", "accel"] | None = None
    profile: str = ""
    limits: dict[str, int] = {}
    buft: str | None = None
    align: int | None = None
    max_size: int | None = None
    host: bool | None = None
    pad_quant: int | None = None
    op_extra: dict[Op, int] = {}
    supports_buft: list[str] | None = None
    ops: list[Op] | None = None
    ops_except: list[Op] = []
    types_except: list[str] = []
    op_types_except: list[tuple[Op, str]] = []
    offload: list[Op] | str | None = None
    offload_min_batch: int | None = None
    is_async: bool | None = msgspec.field(default=None, name="async")
    events: bool | None = None


class SchedDoc(msgspec.Struct, forbid_unknown_fields=True):
    """Settings of the scheduler."""

    parallel: bool = False
    op_offload: bool = True
    compute: bool = True
    direct: bool = False
    copy_cb: CopyCallback = CopyCallback.LLAMA


class TensorDoc(msgspec.Struct, forbid_unknown_fields=True):
    """A tensor; what is left out follows from its op, its sources or its view base."""

    name: str = ""
    op: Op = Op.NONE
    type: str | None = None
    ne: list[int] | None = None
    nb: list[int] | None = None
    src: list[str | int | None] | None = None
    view_src: str | int | None = None
    view_offs: int = 0
    flags: list[FlagName] = []
    op_params: list[int] = []
    weight_of: str | None = None
    alloc_in: str | None = None
    pin: str | None = None
    buffer_id: int = 0
    data: list[int] | None = None
    layer: int | None = None
    label: str = ""


class RootDoc(msgspec.Struct, forbid_unknown_fields=True):
    """A root; compute false means ggml_build_forward_order."""

    name: str
    compute: bool = True


class RunDoc(msgspec.Struct, forbid_unknown_fields=True):
    """One more run on the same scheduler; a missing key means the top-level graph's."""

    tensors: list[TensorDoc] | None = None
    outputs: list[str | int | RootDoc] | None = None
    reserve: bool | None = None


class GraphDoc(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    tensors: list[TensorDoc]
    outputs: list[str | int | RootDoc]
    format: Literal["galloscope-graph"] = "galloscope-graph"
    version: Literal[1] = 1
    about: str = ""
    seed: int | None = None
    meta: dict[str, Any] = {}
    mode: Mode | None = None
    order: Order = Order.LEFT_TO_RIGHT
    bufts: list[BuftDoc] = []
    backends: list[BackendDoc] | None = None
    sched: SchedDoc | None = None
    alloc_deps: list[tuple[str, str]] = []
    reserve: bool | None = None
    sequence: list[RunDoc] = []


SECTIONS: dict[str, type[msgspec.Struct]] = {
    "tensors": TensorDoc,
    "bufts": BuftDoc,
    "backends": BackendDoc,
    "outputs": RootDoc,
    "sequence": RunDoc,
    "sched": SchedDoc,
    "": GraphDoc,
}
"""Which struct the objects under a key are, for naming the nearest known key."""
