"""Write a Problem as graph JSON, defaults left out; reading it back gives an equal Problem."""

from __future__ import annotations

from typing import Any

import msgspec

from ..dtypes import F32, contiguous
from ..graph import Backend, BufferType, Graph, Problem, Request
from ..op import Op
from ..tensor import Flag, Tensor


def dump_graph(problem: Problem) -> bytes:
    """The problem as JSON, a tensor a line."""
    doc = graph_doc(problem)
    rows = {key: doc.pop(key) for key in ("tensors", "sequence") if key in doc}
    head = msgspec.json.format(msgspec.json.encode(doc), indent=1).rstrip(b"}\n ")
    parts = [
        b' "%s": [\n  %s\n ]' % (key.encode(), b",\n  ".join(map(msgspec.json.encode, values)))
        for key, values in rows.items()
    ]
    return head + b",\n" + b",\n".join(parts) + b"\n}\n"


def graph_doc(problem: Problem) -> dict[str, Any]:
    """The problem in the shape of the graph format."""
    config = problem.config
    doc: dict[str, Any] = {"format": "galloscope-graph", "version": 1}
    if problem.about:
        doc["about"] = problem.about
    if problem.meta:
        doc["meta"] = problem.meta
    doc["mode"] = config.mode
    doc["order"] = config.order
    doc["bufts"] = [_buft(buft) for buft in problem.bufts]
    doc["backends"] = [_backend(problem, backend) for backend in problem.backends]
    doc["sched"] = {
        "parallel": config.n_copies > 1,
        "op_offload": config.op_offload,
        "compute": config.compute,
        "direct": config.direct,
        "copy_cb": config.copy_callback,
    }
    first, *rest = problem.requests
    doc.update(_run(problem, first))
    deps = [[_key(first.graph, one), _key(first.graph, until)] for one, until in first.graph.alloc_deps]
    if deps:
        doc["alloc_deps"] = deps
    if rest:
        doc["sequence"] = [_run(problem, one) if one.graph != first.graph else _reserve(one) for one in rest]
    return doc


def _reserve(request: Request) -> dict[str, Any]:
    return {} if request.reserve is None else {"reserve": request.reserve}


def _run(problem: Problem, request: Request) -> dict[str, Any]:
    graph = request.graph
    return {
        **_reserve(request),
        "outputs": [_root(graph, root.tensor, root.compute) for root in graph.roots],
        "tensors": [_tensor(problem, graph, tensor) for tensor in graph.tensors],
    }


def _root(graph: Graph, tensor: int, compute: bool) -> Any:
    key = _key(graph, tensor)
    return key if compute else {"name": key, "compute": False}


def _key(graph: Graph, tensor: int) -> str | int:
    return graph.tensors[tensor].name or tensor


def _buft(buft: BufferType) -> dict[str, Any]:
    doc: dict[str, Any] = {"name": buft.name, "host": buft.host, "align": buft.align}
    if buft.max_size is not None:
        doc["max_size"] = buft.max_size
    if buft.pad_quant:
        doc["pad_quant"] = buft.pad_quant
    if buft.op_extra:
        doc["op_extra"] = buft.op_extra
    doc.update(_profile(buft))
    return doc


def _profile(one: BufferType | Backend) -> dict[str, Any]:
    return {key: value for key, value in (("profile", one.profile), ("limits", one.limits)) if value}


def _backend(problem: Problem, backend: Backend) -> dict[str, Any]:
    doc: dict[str, Any] = {
        "name": backend.name,
        "type": backend.type,
        "buft": problem.bufts[backend.buft].name,
        "supports_buft": [problem.bufts[i].name for i in sorted(backend.supports_buft)],
        "async": backend.is_async,
        "events": backend.has_events,
    }
    doc.update(_profile(backend))
    if backend.ops is not None:
        doc["ops"] = sorted(backend.ops)
    for key, values in (("ops_except", backend.ops_except), ("types_except", backend.types_except)):
        if values:
            doc[key] = sorted(values)
    if backend.op_types_except:
        doc["op_types_except"] = sorted(backend.op_types_except)
    if backend.offload is None or backend.offload or backend.profile:
        doc["offload"] = "*" if backend.offload is None else sorted(backend.offload)
    if backend.offload_min_batch:
        doc["offload_min_batch"] = backend.offload_min_batch
    return doc


def _tensor(problem: Problem, graph: Graph, tensor: Tensor) -> dict[str, Any]:
    doc: dict[str, Any] = {}
    if tensor.name:
        doc["name"] = tensor.name
    if tensor.op is not Op.NONE:
        doc["op"] = tensor.op
    if tensor.view_src >= 0 or tensor.dtype is not F32:
        doc["type"] = tensor.dtype.name
    doc["ne"] = _trimmed(tensor.ne)
    if tensor.nb != contiguous(tensor.dtype, tensor.ne):
        doc["nb"] = list(tensor.nb)
    if tensor.src:
        doc["src"] = [_key(graph, s) if s >= 0 else None for s in tensor.src]
    if tensor.view_src >= 0:
        doc["view_src"] = _key(graph, tensor.view_src)
        if tensor.view_offs:
            doc["view_offs"] = tensor.view_offs
    flags = [name.lower() for name, flag in Flag.__members__.items() if tensor.flags & flag]
    if flags:
        doc["flags"] = flags
    if tensor.op_params:
        doc["op_params"] = list(tensor.op_params)
    if tensor.buft >= 0:
        doc["weight_of" if tensor.is_weight else "alloc_in"] = problem.bufts[tensor.buft].name
    if tensor.pin >= 0:
        doc["pin"] = problem.backends[tensor.pin].name
    if tensor.buffer_id:
        doc["buffer_id"] = tensor.buffer_id
    if tensor.data is not None:
        doc["data"] = list(tensor.data)
    if tensor.given_layer >= 0:
        doc["layer"] = tensor.given_layer
    if tensor.label:
        doc["label"] = tensor.label
    return doc


def _trimmed(ne: tuple[int, ...]) -> list[int]:
    used = len(ne)
    while used > 1 and ne[used - 1] == 1:
        used -= 1
    return list(ne[:used])
