"""Looking into the scheduler at the moment when a split begins: which ops has llama.cpp pinned to a backend?"""

from __future__ import annotations

import ctypes as C
from collections.abc import Callable

from . import layouts as abi
from .asking import Asking


class SplitHook:
    """While it is entered, `pins` is filled in when the scheduler asks the first device the first question of a split.

    Graph building asks, too: a split begins by setting `n_splits` to 0, and it is -1 until then. The CPU stays the real
    one; only the pointer to its supports_op is led through here, for with no other device nobody else is asked.

    Attributes:
        pins: (address, backend) of each op that llama.cpp pinned; None until the split has begun.
    """

    def __init__(self, library: C.CDLL, sched: abi.Sched, asking: Asking) -> None:
        """Nothing is changed before `with`."""
        self.sched, self.asking = sched, asking
        self.pins: list[tuple[int, int]] | None = None
        self._cpu = abi.Device.from_address(library.ggml_backend_dev_by_type(abi.DEVICE_TYPES["cpu"]))
        self._real = self._cpu.supports_op
        kind = C.CFUNCTYPE(abi.BOOL, abi.PTR, abi.PTR)
        answer: Callable[[int, int], bool] = kind(self._real)

        def supports(device: int, tensor: int) -> bool:
            self._look()
            return bool(answer(device, tensor))

        self._function = kind(asking.guarded(supports, abi.BOOL))

    def _look(self) -> None:
        if self.pins is None and self.sched.n_splits == 0:
            ids = (abi.I32 * self.sched.hash_set.size).from_address(self.sched.hv_tensor_backend_ids)
            self.pins = [(tensor, ids[at]) for tensor, at in slots(self.sched.hash_set).items() if ids[at] >= 0]

    def __enter__(self) -> SplitHook:
        """Lead the questions through here."""
        self.sched.n_splits = -1
        self.asking.on_support = self._look
        self._cpu.supports_op = C.cast(self._function, abi.PTR).value
        return self

    def __exit__(self, *_: object) -> None:
        """As it was."""
        self.asking.on_support = None
        self._cpu.supports_op = self._real


def slots(table: abi.HashSet) -> dict[int, int]:
    """Address -> slot of a ggml_hash_set. Looked up here because ggml's own look-up inserts what is missing."""
    keys = (abi.SIZE * table.size).from_address(table.keys)
    words = (abi.U32 * ((table.size + 31) // 32)).from_address(table.used)
    found = {}
    for at, word in enumerate(words):
        while word:
            slot = 32 * at + (word & -word).bit_length() - 1
            found[keys[slot]] = slot
            word &= word - 1
    return found
