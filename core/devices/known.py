"""Every known kind of device by name: one profile per file, registered in `DEVICES`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ..errors import InputError, nearest
from ..llama.options import DeviceSpec
from .blas import BLAS
from .cpu import CPU
from .cuda import CUDA
from .gpu import GPU
from .metal import METAL
from .profile import Profile
from .vulkan import VULKAN

DEVICES: dict[str, Profile] = {
    "cpu": CPU,
    "cuda": CUDA,
    "metal": METAL,
    "vulkan": VULKAN,
    "blas": BLAS,
    "gpu": GPU,
}
"""Every known kind of device by name."""


def device(spec: DeviceSpec) -> Profile:
    """The profile with the limits and the memory that the spec overrides.

    Raises:
        InputError: there is no such profile or limit.
    """
    return profile_with(spec.profile, tuple(sorted(spec.limits.items())), spec.memory)


@lru_cache(maxsize=256)
def profile_with(name: str, limits: tuple[tuple[str, int], ...] = (), memory: int | None = None) -> Profile:
    """The profile of that name, some of its limits overridden; the same object for the same question.

    Raises:
        InputError: there is no such profile or limit.
    """
    if name not in DEVICES:
        raise InputError(f"{name!r} is not a device{nearest(name, DEVICES)}; known: {', '.join(DEVICES)}")
    profile = DEVICES[name]
    return profile.with_limits(dict(limits), memory) if limits or memory is not None else profile


def device_names(profiles: Iterable[Profile]) -> list[str]:
    """What llama.cpp calls the devices: numbered per kind in the order given, such as CUDA0, CUDA1, Vulkan0, CPU."""
    seen: dict[str, int] = {}
    names = []
    for profile in profiles:
        number = seen.setdefault(profile.backend, 0)
        seen[profile.backend] += 1
        names.append(f"{profile.backend}{number}" if profile.numbered else profile.backend)
    return names
