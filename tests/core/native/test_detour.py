"""Calls inside the shared object are led elsewhere, and only where they are expected."""

import ctypes as C

import pytest

from galloscope.core.native import layouts as abi
from galloscope.core.native import library
from galloscope.core.native import play_layouts as more
from galloscope.core.native.detour import Detours
from galloscope.core.native.library import WrongBuild
from galloscope.tests.core.native.support import needs_wheel


def never(error: Exception) -> None:
    raise AssertionError(error)


@pytest.fixture(scope="module")
def loaded() -> C.CDLL:
    found = library.load(library.find())
    library.declare(found, more.PROTOTYPES)
    return found


@needs_wheel
def test_every_slot_holds_its_function(loaded: C.CDLL) -> None:
    name, offset = more.ANCHOR
    base = (C.cast(getattr(loaded, name), abi.PTR).value or 0) - offset
    for symbol, (slot, _) in more.SLOTS.items():
        function = C.cast(getattr(loaded, symbol), abi.PTR).value
        assert abi.PTR.from_address(base + slot).value == function, symbol


@needs_wheel
def test_another_build_is_refused(loaded: C.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    slot, kinds = more.SLOTS[more.CAN_REUSE]
    monkeypatch.setitem(more.SLOTS, more.CAN_REUSE, (slot + 8, kinds))
    with pytest.raises(WrongBuild, match="is not where it is expected"):
        Detours(loaded, never).lead(more.CAN_REUSE, lambda real, *arguments: real(*arguments))
