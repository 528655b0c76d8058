"""A graph that was run, and what it was run with: what the page and the commands show."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.execute.conflict import Conflict
from ...core.execute.result import Execution
from ...core.state import State


@dataclass(frozen=True, slots=True)
class Executed:
    """A run of a graph, and what it was run with.

    Attributes:
        execution: times and values per node.
        backend: numpy, cupy or digest.
        filled: what the weights and inputs were, such as "random weights, seed 1".
        exact: computed in plain float32 where ggml rounds.
        poison: bytes that hold nothing were filled with NaN.
        guard: every node's bytes were checked.
        conflict: what the guard found; the run ended there.
        differing: tensor ids whose values differ from those of a run without shared memory; None when not compared.
        runs: how many graphs ran up to this one, the last; the checks watched all of them.
    """

    execution: Execution
    backend: str
    filled: str
    exact: bool = False
    poison: bool = False
    guard: bool = False
    conflict: Conflict | None = None
    differing: list[int] | None = None
    runs: int = 1

    @property
    def state(self) -> State:
        """The plan it followed."""
        return self.execution.state

    @property
    def follows_bytes(self) -> bool:
        """Fingerprints were made, and nothing was computed."""
        return self.backend == "digest"

    @property
    def about(self) -> str:
        """What it was run with, in a few words."""
        switches = [name for name in ("exact", "poison", "guard") if getattr(self, name)]
        return ", ".join([self.backend, self.filled, *switches])
