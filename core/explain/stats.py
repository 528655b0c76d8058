"""The numbers of a run: what `galloscope stats --json` prints and every page and report shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..op import Op
from ..state import SplitState, State
from .usage import Usage, device_name, usage


def stats(state: State) -> dict[str, Any]:
    """Devices, splits, copies, in-place results and causes; sizes in bytes, steps and node indices as integers."""
    refusals = Counter(reason.value for _, _, reason, _ in state.no_reuse)
    placed = [state.causes[t] for t in state.nodes + state.leafs]
    result: dict[str, Any] = {
        "nodes": len(state.nodes),
        "leafs": len(state.leafs),
        "steps": state.n_steps,
        "devices": [_device(state, one) for one in usage(state)],
        "splits": [_split(state, number, one) for number, one in enumerate(state.splits)],
        "copied_bytes": sum(split_bytes(state, one) for one in state.splits),
        "pipeline": _pipeline(state),
        "in_place": {"hits": len(state.reused), "refused": dict(sorted(refusals.items()))},
        "causes": dict(sorted(Counter(cause.value for cause in placed if cause is not None).items())),
        "refused_ops": _refused_ops(state),
    }
    if state.abort is not None:
        result["abort"] = state.abort
    return result


def split_bytes(state: State, split: SplitState) -> int:
    """Bytes copied into the split each time the graph runs; expert weights are counted whole."""
    return sum(state.tensors[tensor].nbytes for tensor in split.inputs)


def _device(state: State, one: Usage) -> dict[str, Any]:
    names = state.names
    return {
        "name": device_name(state, one),
        "buft": state.buffers[one.buffer].buft.name,
        "compute_bytes": one.size,
        "chunks": list(one.chunks),
        "allocated_bytes": sum(state.buffers[one.buffer].real),
        "peak_step": one.peak_step,
        "peak_node": names[state.alloc_nodes[one.peak_step][0]] if state.alloc_nodes else None,
        "peak_live_bytes": one.peak,
        "lower_bound_bytes": one.peak,
        "fragmentation": round(one.fragmentation, 6),
        "tensors": one.n_tensors,
        "sum_bytes": one.total,
        "at_peak": [{"tensor": names[t], "bytes": _size(state, t)} for t in one.at_peak],
    }


def _size(state: State, tensor: int) -> int:
    life = state.lifetimes.get(tensor)
    return life.size if life is not None else state.tensors[tensor].nbytes


def _split(state: State, number: int, split: SplitState) -> dict[str, Any]:
    return {
        "split": number,
        "backend": state.backends[split.backend].name,
        "start": split.start,
        "end": split.end,
        "nodes": split.end - split.start,
        "reason": split.reason.value,
        "by": state.names[split.by] if split.by >= 0 else None,
        "inputs": [state.names[t] for t in split.inputs],
        "copied_bytes": split_bytes(state, split),
        "weight_bytes": sum(state.tensors[t].nbytes for t in split.inputs if state.tensors[t].is_weight),
    }


def _pipeline(state: State) -> dict[str, int]:
    """Copies exist n_copies times when micro-batches overlap."""
    made = [one for one in state.copies if one.tensor != one.src]
    return {
        "n_copies": max((one.copy_no for one in state.copies), default=0) + 1,
        "copies": len(state.copies),
        "bytes": sum(state.tensors[one.tensor].nbytes for one in made),
    }


def _refused_ops(state: State) -> list[dict[str, Any]]:
    """Ops that a backend refused, by op, backend and reason, with how many and where they run instead."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    for (tensor, backend), reason in state.refused.items():
        if state.tensors[tensor].op is not Op.NONE:
            groups.setdefault((state.tensors[tensor].op.value, backend, reason), []).append(tensor)
    return [
        {
            "op": op,
            "backend": state.backends[backend].name,
            "reason": reason,
            "count": len(tensors),
            "runs_on": dict(Counter(state.backends[b].name for t in tensors if (b := state.backend_ids[t]) >= 0)),
            "first": state.names[tensors[0]],
        }
        for (op, backend, reason), tensors in groups.items()
    ]
