"""Is the engine's answer llama.cpp's? Every difference is a sentence; no sentence means verified.

Shares nothing with the engine but the replayed state.
"""

from __future__ import annotations

from ..llama.taken import Decided
from ..replay import replay
from ..session import Session
from ..state import State

MOST = 20
"""Differences that are told; the first one usually causes the others."""
OURS, THEIRS = "galloscope", "llama.cpp"


def differences(session: Session, decided: Decided) -> list[str]:
    """Node order, leafs, backends, splits, chunks and offsets against llama.cpp's, the engine's first run."""
    state = replay(session.runs[0])
    found = [f"the engine stops: {state.abort}"] if state.abort is not None else []
    found += _lists("node", [state.names[n] for n in state.nodes], decided.nodes)
    found += _lists("leaf", [state.names[n] for n in state.leafs], decided.leafs)
    if found:
        return found[:MOST]
    for node, theirs in zip(state.nodes, decided.backends, strict=True):
        ours = state.backend_ids[node]
        if ours != theirs:
            places = f"on {_backend(state, ours)} in {OURS}, on {_backend(state, theirs)} in {THEIRS}"
            found.append(f"{state.names[node]} runs {places}")
    found += _splits(state, decided)
    found += _chunks(state, decided)
    found += _places(state, decided)
    left = len(found) - MOST
    return [*found[:MOST], f"and {left:,} more differences"] if left > 0 else found


def _backend(state: State, backend: int) -> str:
    return state.backends[backend].name if 0 <= backend < len(state.backends) else "no backend"


def _lists(what: str, ours: list[str], theirs: list[str]) -> list[str]:
    if len(ours) != len(theirs):
        return [f"the graph has {len(ours)} {what}s in {OURS}, {len(theirs)} in {THEIRS}"]
    pairs = enumerate(zip(ours, theirs, strict=True))
    return [f"{what} {at} is {one} in {OURS}, {other} in {THEIRS}" for at, (one, other) in pairs if one != other]


def _splits(state: State, decided: Decided) -> list[str]:
    if len(state.splits) != len(decided.splits):
        return [f"the graph is cut into {len(state.splits)} splits in {OURS}, {len(decided.splits)} in {THEIRS}"]
    found = []
    for at, (split, theirs) in enumerate(zip(state.splits, decided.splits, strict=True)):
        ours = (split.backend, split.start, split.end, [state.names[i] for i in split.inputs])
        if ours != theirs:
            found.append(f"split {at} is {_split(state, *ours)} in {OURS}, {_split(state, *theirs)} in {THEIRS}")
    return found


def _split(state: State, backend: int, start: int, end: int, inputs: list[str]) -> str:
    return f"nodes {start} to {end} on {_backend(state, backend)} with copies of [{', '.join(inputs)}]"


def _chunks(state: State, decided: Decided) -> list[str]:
    pairs = zip(state.backends, state.buffers, decided.chunks, strict=True)
    return [
        f"the compute buffer of {backend.name} has chunks of {buffer.chunks} bytes in {OURS}, {theirs} in {THEIRS}"
        for backend, buffer, theirs in pairs
        if buffer.chunks != theirs
    ]


def _places(state: State, decided: Decided) -> list[str]:
    first = [at if buffer.same_as < 0 else buffer.same_as for at, buffer in enumerate(state.buffers)]
    ours = {state.names[tensor]: (p.buffer, p.chunk, p.offset) for tensor, p in state.places.items()}
    theirs = {name: (first[buffer], chunk, offset) for name, (buffer, chunk, offset) in decided.places.items()}
    found = [
        f"{name} lies at {_place(state, ours.get(name))} in {OURS}, at {_place(state, place)} in {THEIRS}"
        for name, place in theirs.items()
        if ours.get(name) != place
    ]
    return found + [f"{name} has a place in {OURS} and none in {THEIRS}" for name in ours if name not in theirs]


def _place(state: State, place: tuple[int, int, int] | None) -> str:
    if place is None:
        return "no place"
    buffer, chunk, offset = place
    return f"byte {offset:,} of chunk {chunk} of {state.buffers[buffer].buft.name}"
