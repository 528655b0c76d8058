"""The devices of a script: profiles under names of their own, some of their abilities taken away or limited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..devices.known import DEVICES, device
from ..devices.profile import Profile
from ..errors import InputError, nearest
from ..llama.machine import Device
from ..llama.options import DeviceSpec
from .script import DeviceGiven

MADE_UP = "gpu"
"""The profile of a device without one: the GPU of the recordings."""

_GPUS = ("gpu", "igpu")


def script_devices(given: Sequence[DeviceGiven]) -> list[Device]:
    """Every device of a script, in its order.

    Raises:
        InputError: a profile is unknown or no GPU, a limit is out of range, or two devices have one name.
    """
    found: list[Device] = []
    for number, one in enumerate(given):
        where = f"devices[{number}]"
        if one.name in ("", "CPU") or any(one.name == other.name for other in found):
            raise InputError(f"{where}.name is {one.name!r}: every device has a name of its own, and CPU is taken")
        spec = DeviceSpec(_kind(one, where), one.memory_mib << 20, _limits(one))
        found.append(Device(one.name, _abilities(device(spec), one), spec))
    bufts = [one.buft for one in found]
    if len(set(bufts)) < len(bufts):
        raise InputError(f"two devices have one buffer type ({', '.join(bufts)}): there can be one of such a profile")
    hosts = {one.profile.host_buft for one in found}
    for number, made in enumerate(found):
        if made.buft in hosts:
            raise InputError(f"devices[{number}].name is {made.name!r}, a pinned host buffer type: choose another name")
    return found


def alloc_limits(given: Sequence[DeviceGiven], devices: Sequence[Device]) -> dict[str, int]:
    """Bytes of the largest buffer that can be made, by buffer type; no entry where there is no limit.

    Args:
        given: as in the script.
        devices: what `script_devices` made of them.
    """
    pairs = zip(given, devices, strict=True)
    return {made.buft: one.alloc_limit for one, made in pairs if one.alloc_limit is not None}


def _kind(one: DeviceGiven, where: str) -> str:
    kind = one.profile or MADE_UP
    gpus = [name for name, profile in DEVICES.items() if profile.type in _GPUS]
    if kind not in gpus:
        raise InputError(f"{where}.profile is {kind!r}, no GPU{nearest(kind, gpus)}; there are {', '.join(gpus)}")
    return kind


def _limits(one: DeviceGiven) -> dict[str, int]:
    given = {"align": one.alignment, "max_size": one.max_size}
    return {name: value for name, value in given.items() if value is not None}


def _abilities(profile: Profile, one: DeviceGiven) -> Profile:
    """Queues, events and pinned memory as the script says; `limits` has no words for them."""
    if one.async_events is not None:
        profile = replace(profile, is_async=one.async_events, has_events=one.async_events)
    if one.host_buffer is not None:
        name = profile.host_buft or f"{one.name.rstrip('0123456789')}_Host"
        profile = replace(profile, host_buft=name if one.host_buffer else "")
    elif not one.profile:
        profile = replace(profile, host_buft=f"{one.name.rstrip('0123456789')}_Host")
    return profile
