"""Where a user of the executor can look on, and step in, as with ggml's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hooks:
    """All may be left out.

    Attributes:
        eval: ggml_backend_sched_eval_callback(node, ask): asked with true before a node whether its result is wanted,
            then with false after it; false ends the split there.
        copy: ggml_backend_sched_copy_callback for every tensor that the loop copies whole: (source, copy); true means
            that it did the copy itself.
        node: called after each node, with its id.
    """

    eval: Callable[[int, bool], bool] | None = None
    copy: Callable[[int, int], bool] | None = None
    node: Callable[[int], None] | None = None
