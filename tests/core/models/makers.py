"""Makers of made-up models, and graphs as the recordings write them down."""

from typing import Any

from galloscope.core.build import build_forward
from galloscope.core.events import Event, MarkCompute, Visit
from galloscope.core.graph import Graph, Order
from galloscope.core.llama.assemble import GraphMaker, graph_maker
from galloscope.core.llama.options import FlashAttn, Options
from galloscope.core.models.made_up import MadeUp, made_up_header
from galloscope.core.models.shape import GraphShape
from galloscope.core.tensor import Tensor
from galloscope.tests.core.models.recorded import MODELS

COMPUTE = 16
"""GGML_TENSOR_FLAG_COMPUTE."""


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


def maker_of(model: str | MadeUp, **options: Any) -> GraphMaker:
    header = made_up_header(MODELS[model] if isinstance(model, str) else model)
    return graph_maker(header, Options(**{"n_ctx": 512, "n_ubatch": 8, "flash_attn": FlashAttn.OFF, **options}))


def tensors_of(maker: GraphMaker, shape: GraphShape) -> tuple[Tensor, ...]:
    return maker.graph(shape, maker.flash().on).problem.requests[0].graph.tensors
