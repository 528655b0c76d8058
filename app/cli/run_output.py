"""The outputs of a run, and the .npz file that holds them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...core.backends.backend import Summary
from ...core.errors import InputError
from ...core.state import State
from ...core.tensor import Flag

if TYPE_CHECKING:
    from ..executing import Kept
    from ..figures.run_result import Executed

ENDING = ".npz"
_NOT_IN_A_KEY = re.compile(r"[^\w.+-]+", re.ASCII)
_LONGEST = 120
_DATE = (1980, 1, 1, 0, 0, 0)
"""The same values give the same bytes."""


@dataclass(frozen=True, slots=True)
class Output:
    """What the graph was computed for: a tensor with flag OUTPUT, or a root.

    Attributes:
        tensor: id.
        name: of the tensor.
        type: of its elements in the graph; `values` is float32 for all floats.
        ne: shape, fastest dimension first; `values` has it reversed.
        values: as they were when the node had run.
        summary: in short.
        final: nobody in the graph reads it, or it has flag OUTPUT; else it is a root on the way, such as a cache.
    """

    tensor: int
    name: str
    type: str
    ne: tuple[int, ...]
    values: npt.NDArray[Any]
    summary: Summary
    final: bool = True


def output_ids(state: State, roots: Sequence[int]) -> list[int]:
    """Tensors with flag OUTPUT and the roots of the graph, in the order of execution."""
    wanted = {*roots, *(t for t in range(len(state.tensors)) if state.flags[t] & Flag.OUTPUT)}
    return [node for node in state.nodes if node in wanted]


def outputs_of(done: Executed, kept: Sequence[Kept]) -> list[Output]:
    """What was kept, with names and sums."""
    state, by_id = done.state, {one.node: one for one in done.execution.nodes}
    read = {src for node in state.nodes for src in state.src[node]}
    found = []
    for one in kept:
        tensor, run = state.tensors[one.tensor], by_id.get(one.tensor)
        summary = (
            Summary(None, None, None, 0, 0) if run is None else Summary(run.low, run.high, run.mean, run.nans, run.infs)
        )
        owner = tensor.view_src if tensor.view_src >= 0 else one.tensor
        kept_on = owner in read or one.tensor in read or state.tensors[owner].buft >= 0
        final = bool(state.flags[one.tensor] & Flag.OUTPUT) or not kept_on
        name = state.names[one.tensor]
        found.append(Output(one.tensor, name, tensor.dtype.name, tensor.ne, one.values, summary, final))
    return found


def key_of(name: str) -> str:
    """A tensor's name as the name of an array in an .npz file, which is a file in a zip archive.

    >>> key_of("result_output"), key_of("../a b/c"), key_of("")
    ('result_output', '_a_b_c', '_')
    """
    return _NOT_IN_A_KEY.sub("_", name).lstrip(".")[:_LONGEST] or "_"


def keys_of(outputs: Sequence[Output]) -> dict[int, str]:
    """A key for each output, by tensor id; of equal ones the later get a number."""
    keys: dict[int, str] = {}
    for one in outputs:
        plain = key = key_of(one.name)
        number = 1
        while key in keys.values():
            number += 1
            key = f"{plain}.{number}"
        keys[one.tensor] = key
    return keys


def check_ending(out: Path) -> None:
    """Refuse a name before the work begins.

    Raises:
        InputError: it does not end in .npz.
    """
    if out.suffix.lower() != ENDING:
        raise InputError(f"{out}: end the name in {ENDING}")


def npz_of(outputs: Sequence[Output]) -> bytes:
    """The arrays as numpy.savez writes them, shape ne reversed, under their keys."""
    keys = keys_of(outputs)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for one in outputs:
            array = io.BytesIO()
            np.lib.format.write_array(array, np.ascontiguousarray(one.values), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{keys[one.tensor]}.npy", _DATE), array.getvalue())
    return made.getvalue()
