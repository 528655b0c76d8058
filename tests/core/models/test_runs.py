"""Graphs that run a micro-batch: as recorded from inside llama.cpp b11549 while it decoded (cells seen, outputs)."""

import gzip
import json
import re
from typing import Any

import msgspec
import pytest

from galloscope.core.build import build_forward
from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.events import Event, MarkCompute, Visit
from galloscope.core.gguf.header import Header
from galloscope.core.graph import Graph, Order
from galloscope.core.llama.assemble import GraphMaker, graph_maker
from galloscope.core.llama.options import FlashAttn, GraphMode, Options
from galloscope.core.models.cparams import Ubatch
from galloscope.core.models.made_up import made_up_header
from galloscope.core.op import Op
from galloscope.tests.core.models.recorded import MODELS
from galloscope.tests.corpora import GOLDEN

SESSIONS: list[dict[str, Any]] = json.loads(gzip.decompress((GOLDEN / "runs" / "sessions.json.gz").read_bytes()))
COMPUTE = 16
"""GGML_TENSOR_FLAG_COMPUTE."""


def header_of(model: str, leafs: list[Any] | None = None) -> Header:
    """A made-up header with those optional weights that a recorded graph has."""
    made = MODELS[model]
    if leafs is not None:
        made = msgspec.structs.replace(made, optional=frozenset(re.sub(r"^blk\.\d+\.", "", leaf[1]) for leaf in leafs))
    return made_up_header(made)


def maker_of(session: dict[str, Any]) -> GraphMaker:
    options = Options(
        n_ctx=session["n_ctx"],
        n_batch=session["n_batch"],
        n_ubatch=session["n_ubatch"],
        flash_attn=FlashAttn(session["flash_attn"]),
        swa_full=session["swa_full"],
    )
    return graph_maker(header_of(session["model"], session["runs"][0]["leafs"]), options)


def rows(graph: Graph) -> tuple[list[Any], list[Any]]:
    """Nodes and leafs as the recordings have them: op, name, type, shape, flags."""
    events: list[Event] = []
    built = build_forward(graph, Order.LEFT_TO_RIGHT, events.append)
    marked = {event.tensor for event in events if isinstance(event, MarkCompute)}
    marked |= {event.tensor for event in events if isinstance(event, Visit) and event.compute}

    def row(number: int) -> list[Any]:
        one = graph.tensors[number]
        flags = int(one.flags) | (COMPUTE if number in marked else 0)
        return [one.op.value, one.name.split("~")[0], one.dtype.name, list(one.ne), flags]

    return [row(node) for node in built.nodes], [row(leaf) for leaf in built.leafs]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session["session"])
def test_every_micro_batch_has_the_recorded_graph(session: dict[str, Any]) -> None:
    maker = maker_of(session)
    flash = maker.flash().on
    assert len(session["runs"]) >= 2
    for run in session["runs"]:
        built, _ = maker.run_problem(Ubatch(*run["ubatch"]), flash)
        nodes, leafs = rows(built.graph)
        assert nodes == run["nodes"]
        assert leafs == run["leafs"]


@pytest.mark.parametrize("flash", [FlashAttn.ON, FlashAttn.OFF])
@pytest.mark.parametrize("model", ["llama", "gemma3"])
def test_a_run_that_sees_all_cells_is_the_reserved_graph(model: str, flash: FlashAttn) -> None:
    maker = graph_maker(header_of(model), Options(n_ctx=512, n_ubatch=16, flash_attn=flash))
    on = flash is FlashAttn.ON
    window = 256
    reserved, _ = maker.problem(GraphMode.PREFILL, on)
    run, _ = maker.run_problem(Ubatch(16, 16, 512, window), on)
    assert run.graph == reserved.graph


def test_views_of_the_cache_keep_the_strides_of_the_whole_cache() -> None:
    for flash in (False, True):
        asked = FlashAttn.ON if flash else FlashAttn.OFF
        maker = graph_maker(header_of("llama"), Options(n_ctx=1024, n_ubatch=8, flash_attn=asked))
        whole, seen = (maker.run_problem(Ubatch(1, 1, n_kv, 0), flash)[0].graph.tensors for n_kv in (1024, 256))
        for kind in ("k", "v"):
            cells = [
                next(one for one in tensors if one.op is Op.VIEW and one.name.startswith(f"cache_{kind}_l0"))
                for tensors in (whole, seen)
            ]
            assert cells[0].nb == cells[1].nb
            assert sorted(zip(cells[0].ne, cells[1].ne, strict=True))[-1] == (1024, 256)


def test_one_sequence_only_and_what_does_not_fit() -> None:
    header = header_of("llama")
    several = graph_maker(header, Options(n_ctx=512, n_ubatch=8, n_seq_max=2, flash_attn=FlashAttn.ON))
    with pytest.raises(InputError, match="-np 2: graphs are run for one sequence only"):
        several.run_problem(Ubatch(1, 1, 256, 0), True)
    maker = graph_maker(header, Options(n_ctx=512, n_ubatch=8, flash_attn=FlashAttn.ON, type_k=DTYPES["f32"]))
    for wrong in (Ubatch(9, 1, 256, 0), Ubatch(0, 0, 256, 0), Ubatch(2, 3, 256, 0), Ubatch(1, -1, 256, 0)):
        with pytest.raises(InputError, match=r"micro-batch of -?\d tokens with -?\d outputs"):
            maker.run_problem(wrong, True)
    for cells in (0, 513):
        with pytest.raises(InputError, match=rf"n_kv {cells}: a cache of 512 cells"):
            maker.run_problem(Ubatch(1, 1, cells, 0), True)
