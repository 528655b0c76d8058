"""A captured graph is often a reservation, which is planned and never run. This asks for the run as well."""

from __future__ import annotations

import msgspec

from ..build import build_forward
from ..graph import Graph, Mode, Order, Problem, Request


def runnable(problem: Problem, batches: int = 1) -> Problem:
    """The problem with every run computed, and after a last one that only reserves the same graph run on that plan.

    Every tensor has the name that the build gives it: weights and caches are told apart by name, and files go by it.

    Args:
        problem: any.
        batches: how often the last graph runs; in a pipeline one after another takes the next copy.
    """
    named = {id(request.graph): _named(request.graph, problem.config.order) for request in problem.requests}
    requests = [Request(named[id(request.graph)], request.reserve) for request in problem.requests]
    last = requests[-1]
    if last.reserve and problem.config.mode is Mode.SCHED:
        last = Request(last.graph)
        requests.append(last)
    requests += [last] * (batches - 1)
    config = msgspec.structs.replace(problem.config, compute=True)
    return msgspec.structs.replace(problem, requests=tuple(requests), config=config)


def _named(graph: Graph, order: Order) -> Graph:
    if all(tensor.name for tensor in graph.tensors):
        return graph
    names = build_forward(graph, order, lambda event: None).names
    tensors = zip(graph.tensors, names, strict=True)
    return msgspec.structs.replace(
        graph, tensors=tuple(one if one.name else msgspec.structs.replace(one, name=name) for one, name in tensors)
    )
