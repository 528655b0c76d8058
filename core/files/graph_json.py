"""Read the project's graph JSON (version 1, plain or gzip) into a Problem, or say in one sentence why not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InputError, nearest, printable
from ..graph import Config, Graph, Mode, Problem, Request, Root
from ..op import GLU_OPS, UNARY_OPS, Op
from .backends_json import Devices, read_devices
from .graph_schema import SECTIONS, GraphDoc, RootDoc, RunDoc, TensorDoc
from .reading import read_bytes, unpack
from .tensors_json import Tensors

_DECODER = msgspec.json.Decoder(GraphDoc)


def read_graph(path: str | Path) -> Problem:
    """Read a graph file.

    Raises:
        InputError: what is wrong, where, and what to do.
    """
    return _parse(read_bytes(path), str(path))


def parse_graph(data: bytes, where: str = "graph") -> Problem:
    """The same from bytes; `where` stands for the file's name in messages."""
    return _parse(unpack(data, where), where)


def _parse(data: bytes, where: str) -> Problem:
    try:
        doc = _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {_explain(str(error), data)}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{where}: not JSON: {_plain(str(error))}") from None
    except RecursionError:
        raise InputError(f"{where}: not a graph: nested too deeply") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 at byte {error.start}") from None
    try:
        return _problem(doc)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _problem(doc: GraphDoc) -> Problem:
    devices = read_devices(doc)
    several = len(devices.backends) > 1
    mode = doc.mode or (Mode.SCHED if several or doc.sched is not None else Mode.GALLOC)
    if mode is Mode.SCHED and devices.backends[-1].type != "cpu":
        raise InputError(
            f"backends: the last one must be of type cpu in mode sched (ggml asserts it), "
            f"{devices.backends[-1].name!r} is {devices.backends[-1].type}"
        )
    sched = doc.sched
    config = Config(mode=mode, order=doc.order)
    if sched is not None:
        config = Config(
            mode=mode,
            order=doc.order,
            n_copies=4 if sched.parallel else 1,
            op_offload=sched.op_offload,
            compute=sched.compute,
            direct=sched.direct,
            copy_callback=sched.copy_cb,
        )
    top = _graph(doc.tensors, doc.outputs, devices, doc.alloc_deps)
    requests = [Request(top, doc.reserve)]
    for number, run in enumerate(doc.sequence):
        try:
            requests.append(Request(_next_graph(doc, run, devices, top), run.reserve))
        except InputError as error:
            raise InputError(f"sequence[{number}]: {error}") from None
    return Problem(config, devices.bufts, devices.backends, tuple(requests), _shown(doc.about), _shown_meta(doc.meta))


MAX_TEXT = 2000


def _shown(text: str) -> str:
    """A free text as it may be shown: one line, printable, of bounded length."""
    return printable(" ".join(text.split()))[:MAX_TEXT]


def _shown_meta(meta: dict[str, Any]) -> dict[str, object]:
    """Parameters to show: numbers as they are, all else as a short text."""
    return {_shown(key): _shown_value(value) for key, value in list(meta.items())[:50]}


def _shown_value(value: Any) -> object:
    if isinstance(value, bool | int | float):
        return value
    return _shown(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _next_graph(doc: GraphDoc, run: RunDoc, devices: Devices, top: Graph) -> Graph:
    if run.tensors is None and run.outputs is None:
        return top
    tensors = doc.tensors if run.tensors is None else run.tensors
    outputs = doc.outputs if run.outputs is None else run.outputs
    names = {tensor.name for tensor in tensors}
    deps = [pair for pair in doc.alloc_deps if names.issuperset(pair)]  # the others speak of the top-level graph
    return _graph(tensors, outputs, devices, deps)


def _graph(
    docs: list[TensorDoc],
    outputs: list[str | int | RootDoc],
    devices: Devices,
    alloc_deps: list[tuple[str, str]],
) -> Graph:
    tensors = Tensors(docs, devices)
    roots = []
    for number, output in enumerate(outputs):
        name = output.name if isinstance(output, RootDoc) else output
        compute = output.compute if isinstance(output, RootDoc) else True
        roots.append(Root(tensors.find(name, f"outputs[{number}]"), compute))
    deps = tuple(
        (tensors.find(kept, f"alloc_deps[{i}]"), tensors.find(until, f"alloc_deps[{i}]"))
        for i, (kept, until) in enumerate(alloc_deps)
    )
    return Graph(tensors.build(), tuple(roots), deps)


_KINDS = {"object": "an object", "array": "a list", "str": "a text", "int": "an integer", "bool": "true or false",
          "float": "a number with decimals", "null": "null"}  # fmt: skip


def _plain(message: str) -> str:
    """msgspec's message with JSON's words for the types."""
    text = message.replace("JSON is malformed: ", "")
    kinds = re.fullmatch(r"Expected `(.*)`, got `(\w+)`", text)
    if kinds:
        wanted = " or ".join(_KINDS.get(kind.strip(), kind) for kind in kinds[1].split("|"))
        return f"expected {wanted}, found {_KINDS.get(kinds[2], kinds[2])}"
    text = re.sub(r"Object missing required field `(.*)`", r"the key '\1' is missing", text)
    return text.replace("`", "'")


def _explain(message: str, data: bytes) -> str:
    """msgspec's message in our words: the place by tensor name, and the nearest known key."""
    text, _, place = message.partition(" - at `")
    place = place.rstrip("`").removeprefix("$").lstrip(".")
    hint = ""
    unknown = re.search(r"unknown field `(.*)`", text)
    if unknown:
        section = re.sub(r"\[.*?\]", "", place).split(".")[-1] if place else ""
        known = SECTIONS.get(section, GraphDoc)
        hint = nearest(unknown.group(1), known.__struct_encode_fields__)
        text = f"unknown key {unknown.group(1)!r}"
    enum = re.search(r"Invalid enum value '(.*)'", text)
    if enum and place.rsplit(".", 1)[-1].startswith("op"):
        text = f"unknown op {enum.group(1)!r}"
        hint = _op_hint(enum.group(1))
    return f"{_named(place, data)}{_plain(text)}{hint}"


def _op_hint(wanted: str) -> str:
    """GELU and its like are kinds of one op; for the rest the nearest name."""
    for op, kinds in ((Op.UNARY, UNARY_OPS), (Op.GLU, GLU_OPS)):
        if wanted in kinds:
            return f" (it is op {op} with op_params [{kinds.index(wanted)}])"
    return nearest(wanted, [op.value for op in Op])


def _named(place: str, data: bytes) -> str:
    """`tensors[3].ne` with the tensor's name when it has one, so that a person finds it."""
    if not place:
        return ""
    found = re.match(r"tensors\[(\d+)\]", place)
    name = None
    if found:
        try:
            name = msgspec.json.decode(data)["tensors"][int(found.group(1))].get("name")
        except (msgspec.MsgspecError, RecursionError, KeyError, IndexError, AttributeError, TypeError):
            name = None
    return f"{place} ({name!r}): " if isinstance(name, str) and name else f"{place}: "
