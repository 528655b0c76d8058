"""A captured graph is often a reservation, which is planned and never run. This asks for the run as well."""

from __future__ import annotations

import msgspec

from ..graph import Mode, Problem, Request


def runnable(problem: Problem, batches: int = 1) -> Problem:
    """The problem with every run computed, and after a last one that only reserves the same graph run on that plan.

    Args:
        problem: any.
        batches: how often the last graph runs; in a pipeline one after another takes the next copy.
    """
    requests = list(problem.requests)
    last = requests[-1]
    if last.reserve and problem.config.mode is Mode.SCHED:
        last = Request(last.graph)
        requests.append(last)
    requests += [last] * (batches - 1)
    config = msgspec.structs.replace(problem.config, compute=True)
    return msgspec.structs.replace(problem, requests=tuple(requests), config=config)
