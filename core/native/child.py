"""The child process of a capture: the answer about graphs, memory and decisions.

An assert of ggml kills it, not the caller. Started by `parent.ask`.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import msgspec

from ..devices.known import DEVICES, device, device_names
from ..llama.options import GraphMode
from .asking import Asking
from .bufts import raw_backends, raw_buft
from .devices import Devices
from .dump import dump
from .library import load
from .log import Log
from .memory import memory, weights
from .messages import Answer, Ask, RawGraph
from .model import FLASH_OFF, Model
from .process import Fail, Say, bound_memory, serve

MEMORY_LIMIT = 2 << 30
"""Bytes of private memory; a large model takes 100 MB."""


def main(pipe: int, parent: int) -> None:
    """Answer the question on standard input on `pipe`; end with the process `parent`."""
    serve(pipe, parent, _answer)


def _answer(question: bytes, say: Say, fail: Fail) -> Answer:
    bound_memory(MEMORY_LIMIT)
    ask = msgspec.msgpack.decode(question, type=Ask)
    library = load(Path(ask.library))
    log, asking = Log(library), Asking(library, fail)
    named = [device(spec) for spec in ask.options.devices]
    profiles = [profile for profile in named if profile.type != "cpu"]
    names = device_names(profiles)
    accelerators = {name for name, profile in zip(names, profiles, strict=True) if profile.type == "accel"}
    cpu = next((profile for profile in named if profile.type == "cpu"), DEVICES["cpu"])
    devices = Devices(library, profiles, names, cpu, asking)
    say("llama.cpp loads the model without its weights")
    model = Model(library, ask.model, ask.options, devices, accelerators, log)
    say("llama.cpp makes the context")
    model.start()
    graphs: list[RawGraph] = []
    for mode in ask.modes:
        say(f"llama.cpp builds the {mode.value} graph")
        shape = model.shape(mode)
        graph, pins = model.reserve(shape, asking)
        graphs.append(dump(model.sched, graph, pins, shape, asking))
    return _collect(library, model, asking, graphs, log)


def _collect(library: ctypes.CDLL, model: Model, asking: Asking, graphs: list[RawGraph], log: Log) -> Answer:
    sched = model.sched
    n_tokens, _, n_outputs = model.shape(GraphMode.PREFILL)
    description = ctypes.create_string_buffer(256)
    library.llama_model_desc(model.model, description, 256)
    return Answer(
        graphs=graphs,
        backends=raw_backends(library, sched, asking),
        bufts=[raw_buft(library, sched, asking, pointer) for pointer in asking.known()],
        memory=memory(library, model.context, model.devices.allocated, log),
        weights=weights(library, model.model),
        desc=description.value.decode("utf-8", "replace"),
        offloaded=log.offloaded(),
        n_ctx=library.llama_n_ctx(model.context),
        n_batch=library.llama_n_batch(model.context),
        n_ubatch=library.llama_n_ubatch(model.context),
        n_tokens=n_tokens,
        n_outputs=n_outputs,
        flash_off=any(sign in line for _, line in log.lines for sign in FLASH_OFF),
        op_offload=sched.op_offload,
        log=log.lines,
    )
