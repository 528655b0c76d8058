"""The fullest graph of a session: of all graphs, those with samplers in the pools that are made larger for them."""

import pytest

from galloscope.core.decode.life import Life
from galloscope.core.decode.reserve import SAMPLER_NODES
from galloscope.core.decode.room import fullest
from galloscope.tests.core.decode.played import played


def test_the_fullest_is_the_one_with_the_most_nodes_where_pools_are_equal() -> None:
    log, life = played("[{decode: [{n: 8}]}, {set_embeddings: true}, {decode: [{n: 8}]}]", pooling_type=1)
    room = fullest(log, life)
    assert room is not None
    assert (room.where, room.pool.n_nodes, room.pool.max_nodes) == ("ubatch 1", 84, log.setup.max_nodes)
    assert room.tensors > room.pool.n_nodes
    assert room.slots > room.pool.max_nodes


@pytest.mark.parametrize("samplers", [1, 2])
def test_graphs_with_samplers_count(samplers: int) -> None:
    sets = ", ".join(f"{{set_sampler: {seq}}}" for seq in range(samplers))
    log, life = played(f"[{{decode: [{{n: 8}}]}}, {sets}, {{decode: [{{n: 8}}]}}]", n_seq_max=2)
    room, last = fullest(log, life), life.ubatches[-1]
    assert room is not None
    assert last.facts is not None
    assert last.facts.n_nodes > life.ubatches[0].nodes_built
    assert room.pool.max_nodes == log.setup.max_nodes + SAMPLER_NODES * samplers
    assert room.pool.n_nodes >= last.facts.n_nodes


def test_without_a_batch_a_reserved_graph_is_the_fullest() -> None:
    log, life = played("[{clear: true}]")
    room = fullest(log, life)
    assert room is not None
    assert room.where == "a reserved graph"
    assert fullest(log, Life()) is None
