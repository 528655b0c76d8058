"""The devices of one run, named and ordered as llama.cpp has them, and their buffer types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..devices.known import DEVICES, device, device_names
from ..devices.profile import Profile
from ..errors import InputError
from .options import DeviceSpec, Options, SplitMode

MAX_DEVICES = 15
"""GGML_SCHED_MAX_BACKENDS without the CPU."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device under its llama.cpp name.

    Attributes:
        name: `CUDA0`, `CPU`.
        profile: what it can do; its `memory` is the device's, in bytes.
        spec: what the user asked for.
    """

    name: str
    profile: Profile
    spec: DeviceSpec

    @property
    def buft(self) -> str:
        """Name of its default buffer type."""
        return self.profile.buft_of(self.name)


@dataclass(frozen=True, slots=True)
class Place:
    """One buffer type.

    Attributes:
        name: `CUDA0`, `CUDA_Host`, `CPU`, `CPU_REPACK`.
        device: who answers whether an op can use it (ggml_backend_buft_get_device).
        host: the CPU can read it.
        align: bytes.
        default: it is that device's own default, so its sizes are those of the device's profile.
    """

    name: str
    device: Device
    host: bool
    align: int
    default: bool


@dataclass(frozen=True, slots=True)
class Machine:
    """The devices in use.

    Attributes:
        gpus: model.devices: what layers are spread over, in order.
        accels: accelerators that work in the CPU's memory, such as BLAS.
        cpu: always there.
        idle: GPUs named but not used (split mode none).
    """

    gpus: tuple[Device, ...]
    accels: tuple[Device, ...]
    cpu: Device
    idle: tuple[Device, ...] = ()

    @property
    def backends(self) -> tuple[Device, ...]:
        """In the order of the scheduler: GPUs, accelerators, CPU (llama_context's constructor)."""
        return (*self.gpus, *self.accels, self.cpu)

    @property
    def host_place(self) -> Place | None:
        """The pinned host buffer type of the first GPU that has one, None without."""
        for gpu in self.gpus:
            if gpu.profile.host_buft:
                return host_place(gpu)
        return None

    def own_place(self, one: Device) -> Place:
        """The default buffer type of a device."""
        return Place(one.buft, one, one.profile.host, one.profile.align, default=True)

    def extra_places(self) -> list[Place]:
        """The CPU's own layouts for weights (ggml_backend_dev_get_extra_bufts), such as CPU_REPACK."""
        return [Place(name, self.cpu, False, self.cpu.profile.align, False) for name in self.cpu.profile.extra_bufts]

    def cpu_places(self, options: Options) -> list[Place]:
        """Where a weight of the CPU may lie, best first (make_cpu_buft_list)."""
        places = []
        if not options.no_host and (host := self.host_place) is not None:
            places.append(host)
        if options.repack:
            places += self.extra_places()
        return [*places, self.own_place(self.cpu)]

    def override_places(self) -> dict[str, Place]:
        """What `-ot` may name: the default buffer type of every device (parse_tensor_buffer_overrides)."""
        return {one.buft: self.own_place(one) for one in (*self.gpus, *self.idle, self.cpu)}


def host_place(gpu: Device) -> Place:
    """The pinned host buffer type of a GPU: CPU memory under another name."""
    return Place(gpu.profile.host_buft, gpu, True, DEVICES["cpu"].align, default=False)


def devices_of(options: Options) -> list[Device]:
    """The devices that the options name, numbered per kind.

    Raises:
        InputError: a device or a limit is unknown.
    """
    specs = options.devices
    profiles = [device(spec) for spec in specs]
    return [
        Device(name, profile, spec) for name, profile, spec in zip(device_names(profiles), profiles, specs, strict=True)
    ]


def machine(options: Options, named: Sequence[Device] | None = None) -> Machine:
    """The devices of the options.

    Args:
        options: they say which devices there are, and which of them are used.
        named: devices under names of their own, in place of those of the options.

    Raises:
        InputError: a device is unknown, there are too many, two CPUs, or the main GPU is not there.
    """
    named = devices_of(options) if named is None else named
    kinds = {kind: [one for one in named if one.profile.type == kind] for kind in ("cpu", "accel")}
    if len(kinds["cpu"]) > 1:
        raise InputError("the CPU is named twice among the devices, there is one")
    if len(named) - len(kinds["cpu"]) > MAX_DEVICES:
        raise InputError(f"{len(named)} devices are named, ggml takes up to {MAX_DEVICES} and the CPU")
    gpus = tuple(one for one in named if one.profile.type in ("gpu", "igpu"))
    used = gpus
    if options.split_mode is SplitMode.NONE and gpus:
        if options.main_gpu >= len(gpus):
            raise InputError(
                f"main GPU {options.main_gpu} is not there: {len(gpus)} are named, counted from 0 "
                "(a negative number stands for none)"
            )
        used = (gpus[options.main_gpu],) if options.main_gpu >= 0 else ()
    cpu = kinds["cpu"][0] if kinds["cpu"] else Device("CPU", DEVICES["cpu"], DeviceSpec("cpu"))
    return Machine(used, tuple(kinds["accel"]), cpu, tuple(one for one in gpus if one not in used))
