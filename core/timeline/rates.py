"""What a device and a link are assumed to do, per kind. Every number is ASSUMED: none was measured on your machine.

They stand for one plausible machine of each kind, so that proportions are right (a GPU against a CPU, compute against a
bus). Change them with a JSON file (`--cost`) or in the page; docs/timeline.md has the same table.
"""

from __future__ import annotations

import msgspec


class Device(msgspec.Struct, frozen=True):
    """How fast one device is.

    Attributes:
        matrix: FLOP/s in MUL_MAT, MUL_MAT_ID, OUT_PROD and FLASH_ATTN_EXT.
        other: FLOP/s in everything else.
        memory: bytes/s of its own memory.
        launch: seconds that every node costs beside its work.
    """

    matrix: float
    other: float
    memory: float
    launch: float


class Link(msgspec.Struct, frozen=True):
    """How fast a copy is.

    Attributes:
        speed: bytes/s.
        latency: seconds that every copy costs beside its bytes.
    """

    speed: float
    latency: float


ASSUMED: dict[str, tuple[Device, str]] = {
    "cpu": (Device(5e11, 6e10, 6e10, 2e-6), "8 desktop cores with AVX2 at 4 GHz, two channels of DDR5"),
    "cuda": (Device(8e13, 1e13, 9e11, 4e-6), "a desktop card with 24 GB of GDDR6X (f16 tensor cores)"),
    "metal": (Device(1.2e13, 5e12, 3.5e11, 5e-6), "a laptop chip with 40 GPU cores and unified memory"),
    "vulkan": (Device(2.5e13, 6e12, 5e11, 7e-6), "a desktop card with 16 GB of GDDR6, cooperative matrices"),
    "blas": (Device(8e11, 6e10, 6e10, 5e-6), "the same 8 cores with a tuned BLAS"),
    "gpu": (Device(2e13, 5e12, 4e11, 6e-6), "a GPU of which nothing is known: a middling desktop card"),
    "igpu": (Device(2e12, 5e11, 6e10, 6e-6), "a GPU inside the CPU, on the same memory"),
    "accel": (Device(8e11, 6e10, 6e10, 5e-6), "an accelerator of which nothing is known: as blas"),
}
"""By profile key, then by backend type: the numbers, and the kind of machine they stand for."""

SHARED = frozenset({"cpu", "metal", "blas", "igpu", "accel"})
"""Kinds whose memory is the host's: a copy to or from the host does not cross a bus."""

BUS = (Link(2.2e10, 1e-5), "PCIe 4.0 with 16 lanes, pinned host memory")
PEER = (Link(2e10, 1.2e-5), "two cards on PCIe 4.0 with 16 lanes, directly from one to the other")
WITHIN = (Link(2e10, 2e-6), "a copy inside the host's memory by one thread")

CALL = 5e-6
"""Seconds the host spends on handing one piece of work to a device that queues (a launch, a queued copy)."""
