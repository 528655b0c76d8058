"""The kinds of devices that galloscope knows, and what each supports; a limit can be overridden after the name.

`galloscope devices cuda` tells what the rules ask of each op, which limits there are, where the rules were read and
what is simplified. `galloscope devices cuda:8GiB:cc=610` shows the same with other limits, as `--device` takes them.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from typing import Any

import msgspec

from ...core.devices.known import DEVICES, device, device_names
from ...core.devices.profile import Profile, Rule, anything, unknown
from ...core.devices.spec import parse_device
from ...core.text import bytes_text
from .table import table

WIDTH = 118


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope devices`."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="one of them, as --device takes it: cuda:8GiB:cc=610")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Print one device, or the list of all."""
    profiles = [device(parse_device(args.name))] if args.name is not None else list(DEVICES.values())
    if args.json:
        for profile in profiles:
            sys.stdout.buffer.write(msgspec.json.encode(as_json(profile)) + b"\n")
    else:
        print(_one(profiles[0]) if args.name is not None else _all(profiles))
    return 0


def as_json(profile: Profile) -> dict[str, Any]:
    """The profile as plain data; sizes in bytes, null for endless."""
    return {
        "name": profile.name,
        "title": profile.title,
        "device": device_names([profile])[0],
        "type": profile.type,
        "memory": profile.memory,
        "limits": profile.limits(),
        "meaning": dict(profile.units),
        "overridden": dict(profile.changed),
        "host": profile.host,
        "host_buft": profile.host_buft or None,
        "extra_bufts": list(profile.extra_bufts),
        "async": profile.is_async,
        "events": profile.has_events,
        "takes_over": profile.takes is not None,
        "scratch": sorted(profile.extra),
        "any_op": asks(profile.first) if profile.first is not anything else None,
        "rules": [{"ops": ops, "asks": asks(rule)} for rule, ops in grouped(profile).items()],
        "always": _always(profile),
        "others": "refused" if profile.other is unknown else "supported",
        "left_out": {op.value: why for op, why in profile.left_out.items()},
        "simplified": list(profile.simplified),
        "source": profile.source,
    }


def grouped(profile: Profile) -> dict[Rule, list[str]]:
    """The rules that can refuse, with their ops."""
    groups: dict[Rule, list[str]] = {}
    for op, rule in profile.rules.items():
        if rule is not anything:
            groups.setdefault(rule, []).append(op.value)
    return groups


def asks(rule: Rule) -> str:
    """What the rule asks of an op: the first line of its docstring."""
    return (inspect.getdoc(rule) or "").partition("\n")[0].rstrip(".")


def _always(profile: Profile) -> list[str]:
    return sorted(op.value for op, rule in profile.rules.items() if rule is anything)


def _all(profiles: list[Profile]) -> str:
    head = ("name", "device", "type", "memory", "align", "largest buffer", "host buffer", "ops with rules")
    rows = [
        (
            one.name,
            device_names([one])[0],
            one.type,
            bytes_text(one.memory),
            str(one.align),
            _size(one.max_size),
            one.host_buft or "-",
            str(sum(map(len, grouped(one).values()))),
        )
        for one in profiles
    ]
    return f"{table(head, rows, right=(3, 4, 5, 7))}\n\nMore about one: galloscope devices {profiles[-1].name}"


def _one(profile: Profile) -> str:
    named = ", ".join(device_names([profile, profile])) + ", ..." if profile.numbered else profile.backend
    yes = {True: "yes", False: "no"}
    facts = [
        ("called", named),
        ("type", profile.type),
        ("memory", bytes_text(profile.memory)),
        ("buffers", profile.buft or "of its own" if not profile.host else "host memory"),
        ("pinned host buffer", profile.host_buft or "none"),
        ("more buffer types", ", ".join(profile.extra_bufts) or "none"),
        ("asynchronous, events", f"{yes[profile.is_async]}, {yes[profile.has_events]}"),
        ("takes ops over", yes[profile.takes is not None]),
        ("scratch behind", ", ".join(sorted(profile.extra)) or "nothing"),
    ]
    told = {
        "align": "bytes",
        "max_size": "largest single buffer",
        "pad_quant": "elements, quantised rows are padded to",
    }
    limits = [
        (name, _limit(name, value), {**told, **profile.units}[name] + (" *" if name in profile.changed else ""))
        for name, value in profile.limits().items()
    ]
    rules = [(", ".join(ops), asks(rule)) for rule, ops in grouped(profile).items()]
    if profile.first is not anything:
        rules.insert(0, ("any op", asks(profile.first)))
    asked = "\n".join(f"{_wrap(ops, '  ')}\n{_wrap(ask, '      ')}" for ops, ask in rules)
    sections = [
        f"{profile.title} ({profile.name})",
        table(("", ""), facts).strip("\n"),
        "Limits (override: --device " + f"{profile.name}:MEMORY:NAME=VALUE,...)\n" + _columns(limits, (0, 1)),
    ]
    if rules:
        sections.append(f"Rules: an op is refused unless\n{asked}")
    if always := _always(profile):
        sections.append("Supported whatever the arguments\n" + _wrap(", ".join(always), "  "))
    other = "other op" if rules or always else "op"
    sections.append(f"Every {other} is {'refused' if profile.other is unknown else 'supported'}.")
    if profile.left_out:
        left = "\n".join(_wrap(f"{op}: {why}", "  ") for op, why in profile.left_out.items())
        sections.append(f"Left out\n{left}")
    sections.append("Simplified\n" + "\n".join(_wrap(one, "  ") for one in profile.simplified))
    sections.append(_wrap(f"Source: {profile.source}", ""))
    if profile.changed:
        sections.append("* overridden")
    return "\n\n".join(sections)


def _columns(rows: list[tuple[str, str, str]], fixed: tuple[int, ...]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in fixed]
    indent = " " * (2 + sum(widths) + 2 * len(widths))
    lines = []
    for row in rows:
        start = "  " + "".join(row[k].ljust(width + 2) for k, width in zip(fixed, widths, strict=True))
        lines.append(textwrap.fill(row[-1], WIDTH, initial_indent=start, subsequent_indent=indent))
    return "\n".join(lines)


def _wrap(text: str, indent: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def _limit(name: str, value: int | None) -> str:
    return _size(value) if name == "max_size" else str(value)


def _size(value: int | None) -> str:
    return "endless" if value is None else bytes_text(value)
