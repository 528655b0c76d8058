"""Buffers and plans, written: CSV as MiniMalloc reads and writes it, and plans as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..planners.bound import tops
from ..planners.instance import Gap, Instance
from ..planners.planner import Plan
from ..planners.solve import Outcome
from .buffers_csv import ALIASES, CHUNK, NEEDED


def dump_buffers(instance: Instance, plan: Plan | None = None, header: Sequence[str] = ()) -> bytes:
    """CSV of buffers, with the offsets of a plan.

    Args:
        instance: buffers.
        plan: what becomes the column `offset`; None to write the fixed offsets, if any.
        header: columns by the names to write, as `BuffersFile.header` has them; those that the instance needs beyond
            them are added. Without: those that it needs, in MiniMalloc's order.
    """
    kinds = [ALIASES.get(name.lower(), name.lower()) for name in header]
    names = list(header)
    chunked = plan is not None and plan.chunks is not None and bool(plan.chunks.any())
    needed = {
        **dict.fromkeys(NEEDED, True),
        "alignment": bool((instance.alignment != 1).any()),
        "hint": bool((instance.hint >= 0).any()),
        "gaps": any(instance.gaps.values()),
        "offset": plan is not None or bool((instance.fixed >= 0).any()),
        CHUNK: chunked,
    }
    names += [kind for kind, wanted in needed.items() if wanted and kind not in kinds]
    kinds += [kind for kind, wanted in needed.items() if wanted and kind not in kinds]
    inclusive = int("end" in (name.lower() for name in names))
    offsets = instance.fixed if plan is None else plan.offsets
    columns: dict[str, Iterable[int | str]] = {
        "id": instance.ids,
        "lower": instance.lower.tolist(),
        "upper": (instance.upper - inclusive).tolist(),
        "size": instance.size.tolist(),
        "alignment": instance.alignment.tolist(),
        "hint": instance.hint.tolist(),
        "gaps": (_gaps_text(instance.gaps.get(k, ()), inclusive) for k in range(len(instance))),
        "offset": offsets.tolist(),
    }
    if plan is not None and plan.chunks is not None:
        columns[CHUNK] = plan.chunks.tolist()
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(columns[kind] for kind in kinds), strict=True))
    return out.getvalue().encode("utf-8", "replace")


def _gaps_text(gaps: Iterable[Gap], inclusive: int) -> str:
    """As MiniMalloc writes them; a window of no bytes is none."""
    return " ".join(
        f"{gap.lower}-{gap.upper - inclusive}" + (f"@{gap.low}:{gap.high}" if gap.low < gap.high else "")
        for gap in gaps
    )


def dump_plans(outcomes: Sequence[Outcome]) -> bytes:
    """Plans as JSON: of one address space an object, of several a list under `devices`; buffers with what they are."""
    parts = [_plan(one) for one in outcomes]
    found = parts[0] if len(parts) == 1 else {"planner": outcomes[0].planner if outcomes else "", "devices": parts}
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def _plan(one: Outcome) -> dict[str, Any]:
    instance, plan = one.instance, one.plan
    if plan is None:
        raise ValueError(f"{one.planner} has no plan to write")
    names = ("lower", "upper", "size", "alignment")
    columns: list[list[Any]] = [getattr(instance, name).tolist() for name in names]
    buffers = [
        {"id": key, **dict(zip(names, row, strict=True)), "offset": offset}
        for key, row, offset in zip(instance.ids, zip(*columns, strict=True), plan.offsets.tolist(), strict=True)
    ]
    sizes = tops(instance, plan)
    for key, values in (("chunk", plan.chunks if len(sizes) > 1 else None), ("pool", plan.pools)):
        if values is not None:
            for buffer, value in zip(buffers, values.tolist(), strict=True):
                buffer[key] = value
    for k, gaps in instance.gaps.items():
        if gaps:
            buffers[k]["gaps"] = [[gap.lower, gap.upper, gap.low, gap.high] for gap in gaps]
    return {
        "planner": one.planner,
        "name": instance.name,
        "peak": one.peak,
        "bound": one.bound,
        "proved_bound": one.proved_bound,
        "optimal": one.optimal,
        "capacity": one.capacity,
        "max_chunk": instance.max_chunk,
        "chunks": [sizes.get(chunk, 0) for chunk in range(max(sizes, default=-1) + 1)],
        "buffers": buffers,
    }
