"""What is asked: graphs, the backends they may run on and the settings. Values that never change."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from .devices.seen import seen_in
from .dtypes import contiguous
from .op import EXPANDING_OPS, VIEW_OPS, Op
from .tensor import Tensor

if TYPE_CHECKING:
    from .devices.profile import Profile


class Mode(str, Enum):
    """Which planner is asked: the graph allocator alone, or the scheduler in front of it."""

    GALLOC = "galloc"
    SCHED = "sched"


class Order(str, Enum):
    """enum ggml_cgraph_eval_order: which source is visited first."""

    LEFT_TO_RIGHT = "left_to_right"
    RIGHT_TO_LEFT = "right_to_left"


class CopyCallback(str, Enum):
    """What answers when the scheduler copies a host weight (ggml_backend_sched_set_copy_callback, ggml 0.26)."""

    LLAMA = "llama"
    NONE = "none"
    LOG = "log"
    TRUE = "true"
    FALSE = "false"


class BufferType(msgspec.Struct, frozen=True):
    """A ggml_backend_buffer_type.

    Attributes:
        name: unique.
        host: the CPU can read it (ggml_backend_buft_is_host).
        align: bytes, a power of two.
        max_size: largest single buffer in bytes; None for endless.
        pad_quant: quantised rows are padded to a multiple of this many elements; 0 for none.
        op_extra: scratch bytes behind the result of an op.
        profile: key of the device profile whose default buffer type it is, "" for none; its kernels may ask for
            scratch as well.
        limits: what is overridden about that profile.
    """

    name: str
    host: bool = False
    align: int = 32
    max_size: int | None = None
    pad_quant: int = 0
    op_extra: dict[Op, int] = {}
    profile: str = ""
    limits: dict[str, int] = {}

    @classmethod
    def of(cls, profile: Profile, name: str) -> BufferType:
        """The default buffer type of a device that follows the profile."""
        return cls(
            name,
            profile.host,
            profile.align,
            profile.max_size,
            profile.pad_quant,
            profile=profile.name,
            limits=dict(profile.changed),
        )

    @property
    def plain(self) -> bool:
        """It never asks for more bytes than a tensor has."""
        return not (self.pad_quant or self.op_extra or (self.profile and self.device.extra))

    @property
    def device(self) -> Profile:
        """The profile, limits overridden; only where `profile` is set."""
        return _profile(self.profile, self.limits)

    def alloc_size(self, number: int, tensors: Sequence[Tensor], src: Sequence[int]) -> int:
        """Bytes the tensor takes in such a buffer (ggml_backend_buft_get_alloc_size); -1 where ggml asserts.

        Args:
            number: id of what is to be placed.
            tensors: those of its run, by id.
            src: ids of its sources as they are now.

        Raises:
            MissingSource: the scratch of a profile's kernel depends on a source that is not there.
        """
        tensor = tensors[number]
        size = tensor.nbytes
        dtype = tensor.dtype
        if self.pad_quant and dtype.quantized and tensor.ne[0] % self.pad_quant:
            missing = self.pad_quant - tensor.ne[0] % self.pad_quant
            size += contiguous(dtype, (missing, 1, 1, 1))[1]
        extra = self.op_extra.get(tensor.op, 0)
        if self.profile and tensor.op in self.device.extra:
            extra += self.device.scratch(seen_in(tensors, number, src, ()))
        if extra and not dtype.quantized and tensor.op not in _MAY_EXPAND:
            return -1
        return size + extra


_MAY_EXPAND = EXPANDING_OPS | VIEW_OPS | {Op.NONE}


class Backend(msgspec.Struct, frozen=True):
    """A ggml_backend as declared in a graph file.

    Attributes:
        name: unique.
        type: cpu, gpu, igpu or accel.
        buft: index of its default buffer type.
        supports_buft: indices of the buffer types it can read.
        ops: the ops it can run; None for all.
        ops_except: ops it cannot run.
        types_except: names of types it refuses, as result or as any source.
        op_types_except: (op, type name) pairs it refuses.
        offload: ops it wants to take over from the CPU, or None for all ops; empty for no offload.
        offload_min_batch: smallest batch (rows, as ggml-cuda counts them) it takes over.
        is_async: it queues work, so synchronizing it means something.
        has_events: it can record events (used with pipeline copies only).
        profile: key of `core.devices.DEVICES` whose rules it follows beside the lists above, "" for none.
        limits: what is overridden about that profile.
    """

    name: str
    type: str
    buft: int
    supports_buft: frozenset[int]
    ops: frozenset[Op] | None = None
    ops_except: frozenset[Op] = frozenset()
    types_except: frozenset[str] = frozenset()
    op_types_except: frozenset[tuple[Op, str]] = frozenset()
    offload: frozenset[Op] | None = frozenset()
    offload_min_batch: int = 0
    is_async: bool = False
    has_events: bool = False
    profile: str = ""
    limits: dict[str, int] = {}

    @property
    def device(self) -> Profile:
        """The profile, limits overridden; only where `profile` is set."""
        return _profile(self.profile, self.limits)


class Config(msgspec.Struct, frozen=True):
    """How the planners are set up.

    Attributes:
        mode: see `Mode`.
        order: see `Order`.
        n_copies: 4 with pipeline parallelism (GGML_SCHED_MAX_COPIES), else 1.
        op_offload: ops with host weights may move to a backend that wants them.
        compute: the compute loop is followed too.
        direct: graph_compute is called without alloc_graph.
        copy_callback: see `CopyCallback`.
    """

    mode: Mode = Mode.SCHED
    order: Order = Order.LEFT_TO_RIGHT
    n_copies: int = 1
    op_offload: bool = True
    compute: bool = True
    direct: bool = False
    copy_callback: CopyCallback = CopyCallback.LLAMA


class Root(msgspec.Struct, frozen=True):
    """A root handed to the graph build: ggml_build_forward_expand, or _order when `compute` is false."""

    tensor: int
    compute: bool = True


class Graph(msgspec.Struct, frozen=True):
    """One graph: tensors by id, the roots in call order, and (tensor, until) allocation dependencies."""

    tensors: tuple[Tensor, ...]
    roots: tuple[Root, ...]
    alloc_deps: tuple[tuple[int, int], ...] = ()


class Request(msgspec.Struct, frozen=True):
    """One run asked of the planners: `reserve` None means what the mode does by itself."""

    graph: Graph
    reserve: bool | None = None


class Problem(msgspec.Struct, frozen=True):
    """A whole input: settings, devices and the runs on the same scheduler and allocator, in order."""

    config: Config
    bufts: tuple[BufferType, ...]
    backends: tuple[Backend, ...]
    requests: tuple[Request, ...]
    about: str = ""
    meta: dict[str, object] = {}


def _profile(name: str, limits: dict[str, int]) -> Profile:
    from .devices.known import profile_with  # all rules of all devices: most graph files name none

    return profile_with(name, tuple(sorted(limits.items())))
