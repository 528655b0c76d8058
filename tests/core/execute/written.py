"""Made-up models with weights, written to disk; always the same bytes for the same model."""

from pathlib import Path

from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.gguf.read import parse_header
from galloscope.core.llama.assemble import graph_maker
from galloscope.core.llama.options import FlashAttn, GraphMode, Options
from galloscope.core.models.made_up import MadeUp, made_up


def write_model(path: Path, model: MadeUp, seed: int = 1) -> Path:
    """The header, then random weights as the model's own graph shapes them."""
    header = made_up(model)
    rows = parse_header(header, path.name)
    maker = graph_maker(rows, Options(n_ctx=256, flash_attn=FlashAttn.ON))
    built, problem = maker.problem(GraphMode.DECODE, True)
    graph = problem.requests[0].graph
    feed = RandomFeed(graph, seed)
    leafs = {use.name: graph.tensors[leaf] for leaf, use in built.weights.items()}
    with open(path, "wb") as file:
        file.write(header)
        for info in rows.tensors:
            file.write(bytes(-file.tell() % rows.alignment))
            data = feed.external(leafs[info.name])
            assert data is not None
            file.write(data.tobytes())
    return path
