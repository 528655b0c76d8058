"""All static planners by name. Imported where one is needed: it brings numba along."""

from __future__ import annotations

from . import (
    best,
    best_fit_by_birth,
    ggml,
    hill_climb,
    naive,
    offsets_by_breadth,
    offsets_by_conflicts,
    offsets_by_lifetime,
    offsets_by_size,
    pools_by_breadth,
    pools_by_size,
    pools_greedy,
    search,
    squeaky_wheel,
    tlsf,
    valley_skyline,
)
from .planner import Planner

PLANNERS: dict[str, Planner] = {
    "naive": naive.PLANNER,
    "ggml": ggml.PLANNER,
    "pools_greedy": pools_greedy.PLANNER,
    "pools_by_size": pools_by_size.PLANNER,
    "pools_by_breadth": pools_by_breadth.PLANNER,
    "offsets_by_size": offsets_by_size.PLANNER,
    "offsets_by_breadth": offsets_by_breadth.PLANNER,
    "offsets_by_conflicts": offsets_by_conflicts.PLANNER,
    "offsets_by_lifetime": offsets_by_lifetime.PLANNER,
    "best_fit_by_birth": best_fit_by_birth.PLANNER,
    "tlsf": tlsf.PLANNER,
    "hill_climb": hill_climb.PLANNER,
    "valley_skyline": valley_skyline.PLANNER,
    "squeaky_wheel": squeaky_wheel.PLANNER,
    "search": search.PLANNER,
    "best": best.PLANNER,
}
"""In the order of tables: from no re-use to exact."""
