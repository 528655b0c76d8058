"""What a GGUF file says about its model: architecture, parameters, types by bytes, layers, context, experts.

Only the header is read; of a split model, name any one part. A file that ends with its header is enough.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec

from ...core.errors import InputError, printable
from ...core.gguf.facts import Facts, PerLayer, facts
from ...core.gguf.header import Header
from ...core.gguf.read import read_header
from ...core.gguf.values import LazyArray, Value
from ...core.gguf.write import write_header_only
from ...core.text import bytes_text, hex_text, shape_text
from .table import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope gguf`."""
    parser.add_argument("file", metavar="FILE", help="a GGUF, a part of a split one, or the beginning of one")
    style = parser.add_mutually_exclusive_group()
    style.add_argument("--tensors", action="store_true", help="the tensor table")
    style.add_argument("--json", action="store_true", help="all of it but long arrays, as one JSON object on a line")
    style.add_argument(
        "--header-only", metavar="OUT", help="write a copy without the weights, to send or to attach to an issue"
    )


def run(args: argparse.Namespace) -> int:
    """Print the header."""
    header = read_header(args.file)
    if args.header_only:
        print(_copy(header, args.header_only))
    elif args.json:
        sys.stdout.buffer.write(msgspec.json.encode(as_json(header)) + b"\n")
    elif args.tensors:
        print(_tensors(header))
    else:
        print(_summary(header, facts(header)))
    return 0


def _copy(header: Header, out: str) -> str:
    """Write the header alone, which every command opens like the file itself; nothing is replaced."""
    try:
        first = write_header_only(out, header, sparse=False)
    except FileExistsError as error:
        raise InputError(f"{error.filename}: exists; choose another name") from None
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from None
    whole = sum(part.file_bytes for part in header.parts)
    return f"{printable(str(first))}: {header.header_bytes:,} bytes of {whole:,}"


def as_json(header: Header) -> dict[str, Any]:
    """The header as plain data; a long array becomes its type and count."""
    return {
        "version": header.version,
        "big_endian": header.big_endian,
        "alignment": header.alignment,
        "header_bytes": header.header_bytes,
        "file_bytes": header.file_bytes,
        "complete": header.complete,
        "parts": [
            {
                "file": printable(part.source.where),
                "header_bytes": part.header_bytes,
                "data_offset": part.data_offset,
                "file_bytes": part.file_bytes,
                "tensors": part.tensors,
                "complete": part.complete,
            }
            for part in header.parts
        ],
        "facts": facts(header),
        "metadata": {
            key: {"type": header.types[key], "value": _plain(value)} for key, value in header.metadata.items()
        },
        "tensors": [
            {
                "name": one.name,
                "type": one.dtype.name,
                "ne": one.ne[: one.n_dims],
                "offset": one.offset,
                "nbytes": one.nbytes,
                "part": one.part,
            }
            for one in header.tensors
        ],
    }


def _plain(value: Value) -> Any:
    return {"count": value.count} if isinstance(value, LazyArray) else value


def _tensors(header: Header) -> str:
    several = len(header.parts) > 1
    rows = [
        (
            printable(one.name),
            one.dtype.name,
            shape_text(one.ne),
            bytes_text(one.nbytes),
            hex_text(header.parts[one.part].data_offset + one.offset),
            *([str(one.part + 1)] if several else []),
        )
        for one in header.tensors
    ]
    return table(("tensor", "type", "shape", "bytes", "at", *(["part"] if several else [])), rows, right=(3, 4, 5))


def _summary(header: Header, known: Facts) -> str:
    rows = [row for row in (*_model(known), *_file(header)) if row[1]]
    head = ("type", "tensors", "parameters", "bytes", "share")
    mix = [
        (one.name, f"{one.tensors:,}", f"{one.elements:,}", bytes_text(one.bytes), f"{100 * one.share:.1f} %")
        for one in known.mix
    ]
    title = printable(" ".join(known.name.split())) or "A model without a name"
    lines = [title, "", *(f"{name:<14}{printable(text)}" for name, text in rows)]
    return "\n".join(lines + (["", table(head, mix, right=range(1, 5))] if mix else []))


def _model(known: Facts) -> list[tuple[str, str]]:
    heads = _numbers(known.heads)
    if heads and known.kv_heads is not None:
        heads += f", {_numbers(known.kv_heads)} for KV"
    if heads and known.key_length:
        same = known.key_length == known.value_length
        heads += f", {known.key_length} elements each" + ("" if same else f" (values {known.value_length})")
    experts = ""
    if known.experts:
        shared = f", {known.experts_shared} shared" if known.experts_shared else ""
        used = f", {known.experts_used} used per token" if known.experts_used else ""
        length = f", {known.expert_feed_forward:,} long" if known.expert_feed_forward else ""
        experts = f"{known.experts}{used}{shared}{length}"
    tokenizer = f" ({known.tokenizer})" if known.tokenizer else ""
    return [
        ("architecture", known.architecture or "not named"),
        ("parameters", f"{known.parameters:,}"),
        ("weights", f"{bytes_text(known.bytes)}, {known.bits_per_weight:.2f} bits per weight"),
        ("layers", _numbers(known.layers)),
        ("context", f"{known.context_length:,} tokens" if known.context_length else ""),
        ("embedding", _numbers(known.embedding)),
        ("heads", heads),
        ("feed forward", _numbers(known.feed_forward)),
        ("experts", experts),
        ("window", f"{known.sliding_window:,} tokens" if known.sliding_window else ""),
        ("vocabulary", f"{known.vocabulary:,} tokens{tokenizer}" if known.vocabulary else ""),
        ("rope", _rope(known)),
    ]


def _rope(known: Facts) -> str:
    rope = known.rope
    said = [
        f"base {rope.freq_base:,.10g}" if rope.freq_base is not None else "",
        f"{rope.dimensions} dimensions" if rope.dimensions is not None else "",
        f"{rope.scaling} scaling" if rope.scaling else "",
        f"factor {rope.factor:g}" if rope.factor is not None else "",
        f"from {rope.original_context:,} tokens" if rope.original_context is not None else "",
    ]
    return ", ".join(filter(None, said))


def _file(header: Header) -> list[tuple[str, str]]:
    order = "big-endian" if header.big_endian else "little-endian"
    files = "1 file" if header.split_count == 1 else f"{header.split_count} files"
    data = "" if header.complete else " (the data are not there)"
    return [
        ("format", f"GGUF {header.version}, {order}, data aligned to {header.alignment}"),
        ("size", f"{bytes_text(header.file_bytes)} in {files}, {len(header.tensors):,} tensors{data}"),
        ("header", f"{header.header_bytes:,} bytes, {len(header.metadata)} metadata entries"),
    ]


def _numbers(value: PerLayer) -> str:
    """One number, or the range of those per layer."""
    if isinstance(value, tuple):
        return f"{min(value):,} to {max(value):,} by layer"
    return "" if value is None else f"{value:,}"
