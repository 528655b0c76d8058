"""Leading calls between functions of the shared object through functions of ours."""

from __future__ import annotations

import ctypes as C
from collections.abc import Callable
from typing import Any, TypeAlias

from . import layouts as abi
from . import play_layouts as more
from .library import WrongBuild
from .process import Fail

Real: TypeAlias = Callable[..., Any]
"""The function that would have been called."""


class Detours:
    """The slots of the address table that were changed; they stay so until the process ends."""

    def __init__(self, library: C.CDLL, fail: Fail) -> None:
        """Nothing is changed yet; `fail` is told of an exception in a function of ours, and does not return."""
        name, offset = more.ANCHOR
        self._library, self._fail = library, fail
        self._base = _address(library, name) - offset
        self._keep: list[object] = []

    def lead(self, name: str, function: Callable[..., Any]) -> None:
        """From now on `function(real, *arguments)` is called in place of the function of that name.

        Raises:
            WrongBuild: the slot does not hold that function.
        """
        offset, (result, *arguments) = more.SLOTS[name]
        slot = abi.PTR.from_address(self._base + offset)
        if slot.value != _address(self._library, name):
            raise WrongBuild(f"the call of {name} is not where it is expected")
        kind = C.CFUNCTYPE(result, *arguments)
        real: Real = kind(slot.value)

        def call(*given: Any) -> Any:
            try:
                return function(real, *given)
            except Exception as error:
                self._fail(error)

        made = kind(call)
        self._keep += [real, made]
        slot.value = C.cast(made, abi.PTR).value


def _address(library: C.CDLL, name: str) -> int:
    return C.cast(getattr(library, name), abi.PTR).value or 0
