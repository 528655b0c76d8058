"""How much room the graphs of a session leave in the pools that llama.cpp makes for them."""

from __future__ import annotations

from typing import NamedTuple

from ..context import Pool, sched_hash_slots
from ..models.shape import GraphShape
from .life import Life
from .log import LifeLog
from .reserve import SAMPLER_NODES
from .run_facts import RunFacts


class Room(NamedTuple):
    """The pools with the graph that fills them most.

    Attributes:
        where: which graph, in words: ubatch 3, or a reserved one.
        pool: of a result object, with this graph in it.
        tensors: nodes and leafs of the graph.
        slots: of the scheduler's hash set.
    """

    where: str
    pool: Pool
    tensors: int
    slots: int


def fullest(log: LifeLog, life: Life) -> Room | None:
    """Of all graphs, those with samplers included, for which the pools are made larger; None where there are none."""
    graphs = [(f"ubatch {one.number}", one.shape, one.facts) for one in life.ubatches if one.facts and not one.reused]
    graphs += [("a reserved graph", plan.shape, plan.facts) for one in life.reservations for plan in one.plans]
    rooms = [_room(log, where, shape, facts) for where, shape, facts in graphs]
    return max(rooms, key=lambda room: room.pool.fill, default=None)


def _room(log: LifeLog, where: str, shape: GraphShape, facts: RunFacts) -> Room:
    most = log.setup.max_nodes + SAMPLER_NODES * len(shape.samplers)
    pool = Pool(most, facts.n_nodes, facts.n_inputs)
    return Room(where, pool, facts.n_nodes + facts.n_leafs, sched_hash_slots(most))
