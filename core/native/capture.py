"""The door: a model and options in, llama.cpp's own graphs, memory and decisions out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from ..devices.known import DEVICES, device, device_names
from ..devices.profile import Profile
from ..errors import InputError
from ..gguf.header import Header
from ..gguf.read import parse_header, read_header
from ..llama.options import FlashAttn, GraphMode, Options
from ..llama.taken import BuftMemory, GraphTaken, Taken
from .checks import check
from .convert import Machine, to_decided, to_problem
from .layouts import BUILD
from .library import WrongBuild, find
from .messages import Answer, Ask, RawGraph
from .notes import notes
from .parent import ask
from .roots import NoRoots
from .slim import model_in_memory

DEFAULT_CONTEXT = 4096
MOST_TENSORS = 20_000
"""512 layers with 39 weights each; llama.cpp compares every name with every other, 25,000 take it a quarter minute."""
SOURCE = f"llama.cpp {BUILD}"


def available() -> str:
    """Why the real llama.cpp cannot be asked here, empty when it can."""
    try:
        library_path()
    except WrongBuild as error:
        return str(error)
    return ""


@cache
def library_path() -> Path:
    """Where the shared object of the wheel lies, found once.

    Raises:
        WrongBuild: it is not there, or not the right one.
    """
    return find()


def capture(
    source: str | Path | bytes,
    options: Options,
    modes: Sequence[GraphMode],
    *,
    name: str = "",
    progress: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    time_limit: float = 120,
) -> Taken:
    """Graphs, memory and decisions of the real llama.cpp, in a child process and without weights.

    Args:
        source: path of a GGUF (any part of a split one; its data may be missing), or the bytes of a header.
        options: as given; what is left open is filled in.
        modes: the graphs to take, in order.
        name: what to call the model in messages; the file's name otherwise.
        progress: told what is being done, a few words each time.
        cancelled: asked now and then; True ends the child.
        time_limit: seconds for the child.

    Raises:
        InputError: llama.cpp cannot be asked, the file or an option is unusable, llama.cpp refuses the model or stops,
            the time is over, or the work was cancelled.
    """
    try:
        library = library_path()
    except WrongBuild as error:
        raise InputError(f"the real llama.cpp cannot be asked: {error}") from None
    if isinstance(source, bytes):
        name = name or "the model"
        header = parse_header(source, name)
    else:
        name, header = name or Path(source).name, read_header(source)
    if len(header.tensors) > MOST_TENSORS:
        raise InputError(f"{name}: {len(header.tensors):,} tensors, llama.cpp is asked about {MOST_TENSORS:,} at most")
    options = with_context(options, header)
    check(options)
    with model_in_memory(header) as descriptor:
        question = Ask(str(library), f"/proc/self/fd/{descriptor}", options, list(modes))
        answer = ask(question, descriptor, name, progress=progress, cancelled=cancelled, time_limit=time_limit)
    try:
        return _taken(answer, header, options, modes)
    except NoRoots as error:
        raise InputError(f"{name}: the graph of llama.cpp cannot be rebuilt: {error}") from None


def with_context(options: Options, header: Header) -> Options:
    """With the context size that the tools of llama.cpp would have by galloscope's default."""
    if options.n_ctx is not None:
        return options
    own = header.get("context_length")
    n_ctx = min(DEFAULT_CONTEXT, own) if type(own) is int and own > 0 else DEFAULT_CONTEXT  # a bool is no length
    return msgspec.structs.replace(options, n_ctx=n_ctx)


def _profiles(options: Options) -> dict[str, Profile]:
    """The profile of each device by llama.cpp's name; the CPU is always there."""
    profiles = [device(spec) for spec in options.devices]
    if all(profile.type != "cpu" for profile in profiles):
        profiles.append(DEVICES["cpu"])
    return dict(zip(device_names(profiles), profiles, strict=True))


def _taken(answer: Answer, header: Header, options: Options, modes: Sequence[GraphMode]) -> Taken:
    resolved = _resolved(answer, options)
    machine = Machine(answer, _profiles(options))
    graphs = []
    for mode, graph in zip(modes, answer.graphs, strict=True):
        about = _about(answer, header, resolved, mode, graph)
        problem = to_problem(graph, machine, about, _meta(answer, header, resolved, mode, graph))
        graphs.append(GraphTaken(mode, problem, to_decided(graph, problem)))
    return Taken(
        options=resolved,
        graphs=tuple(graphs),
        memory=_memory(answer),
        source=SOURCE,
        notes=notes(answer, resolved),
        weights=_weights(answer),
    )


def _resolved(answer: Answer, options: Options) -> Options:
    """The options as llama.cpp rounded and settled them."""
    flash = FlashAttn.OFF if answer.flash_off or options.flash_attn is FlashAttn.OFF else FlashAttn.ON
    return msgspec.structs.replace(
        options,
        n_ctx=answer.n_ctx,
        n_batch=answer.n_batch,
        n_ubatch=answer.n_ubatch,
        flash_attn=flash,
        n_gpu_layers=answer.offloaded,
        n_tokens=answer.n_tokens,
        n_outputs=answer.n_outputs,
    )


def _about(answer: Answer, header: Header, options: Options, mode: GraphMode, graph: RawGraph) -> str:
    n_devices = len(answer.backends) - 1
    devices = "CPU only"
    if n_devices:
        devices = f"{', '.join(name for name, _ in answer.backends)}, n_gpu_layers {options.n_gpu_layers}"
    return (
        f"{SOURCE}: {header.architecture}, {mode.value}, {_count(graph.n_tokens, 'token')} of "
        f"{_count(options.n_seq_max, 'sequence')}, n_ctx {options.n_ctx}, flash attention {options.flash_attn.value}, "
        f"{devices}"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _meta(answer: Answer, header: Header, options: Options, mode: GraphMode, graph: RawGraph) -> dict[str, object]:
    return {
        "model": answer.desc,
        "arch": header.architecture,
        "build": BUILD,
        "mode": mode.value,
        "n_ctx": options.n_ctx,
        "n_tokens": graph.n_tokens,
        "n_outputs": graph.n_outputs,
        "n_seqs": options.n_seq_max,
        "fa": options.flash_attn is FlashAttn.ON,
    }


def _memory(answer: Answer) -> tuple[BuftMemory, ...]:
    """Bytes per buffer type; what the CPU can read counts as its own, whoever made it."""
    bufts = {buft.name: buft for buft in answer.bufts}
    order = {name: at for at, (name, _) in enumerate(answer.backends)}
    rows = []
    for row in answer.memory:
        buft = bufts[row.buft]
        owner = "CPU" if buft.host else buft.device
        made = BuftMemory(row.buft, owner, buft.host, row.model, row.context - row.recurrent, row.recurrent, row.output)
        if made.weights or made.kv or made.recurrent or made.output:
            rows.append(made)
    return tuple(sorted(rows, key=lambda row: (order.get(row.device, len(order)), row.buft)))


def _weights(answer: Answer) -> dict[str, str]:
    """Buffer type by name; a weight that lies in two (tied embeddings) is `NAME~2` in the second, by name."""
    found: dict[str, list[str]] = {}
    for name, buft in answer.weights:
        found.setdefault(name, []).append(buft)
    return {
        name if number == 1 else f"{name}~{number}": buft
        for name, bufts in found.items()
        for number, buft in enumerate(sorted(bufts), 1)
    }
