"""Memory that looks larger than it is."""

import ctypes as C
import sys

import pytest

from galloscope.core.native.folded import BLOCK, Folded

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd_create is Linux's")


def test_all_of_it_can_be_written_and_it_is_one_block() -> None:
    address = Folded().address(3 * BLOCK + 1)
    first, last = C.c_char.from_address(address), C.c_char.from_address(address + 3 * BLOCK)
    last.value = b"x"
    assert first.value == b"x"
    C.c_char.from_address(address + 4 * BLOCK - 1).value = b"y"


def test_two_do_not_overlap() -> None:
    folded = Folded()
    one, other = folded.address(2 * BLOCK), folded.address(2 * BLOCK)
    assert abs(one - other) >= 2 * BLOCK


def test_too_much_is_refused() -> None:
    with pytest.raises(MemoryError):
        Folded().address(1 << 60)
