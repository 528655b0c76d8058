"""What the page says about a model: its options, the equal llama.cpp command, and whether llama.cpp agreed."""

from __future__ import annotations

from typing import Any

from ...core.devices.known import DEVICES
from ...core.devices.spec import bytes_word, device_text
from ...core.gguf.facts import facts
from ...core.llama.arguments import read_command
from ...core.llama.command import command
from ...core.llama.flags import FLAGS, MAX_PATTERN, Flag
from ...core.llama.machine import machine
from ...core.llama.open import TracedModel
from ...core.llama.options import Options
from .devices import DeviceTotals

GROUPS = {"devices": "Devices and weights", "context": "Context", "graph": "Graph"}
"""Headings of the panel, by the groups of the flags."""
_OWN_EDITOR = ("devices", "overrides")
_BRIEF = {
    "split_mode": "layer: over all GPUs",
    "main_gpu": "the GPU of -sm none",
    "n_cpu_moe": "layers with CPU experts",
    "offload_kqv": "cache, attention on the CPU",
    "op_offload": "ops stay with host weights",
    "type_k": "type of the K cache",
    "type_v": "type of the V cache",
    "swa_full": "full cache in window layers",
    "n_outputs": "tokens with logits",
}
"""What fits on one line beside a field, where the flag's own words do not; those are its tooltip."""
_SHORT = ("n_ctx", "n_batch", "n_ubatch", "flash_attn")
"""Said in the top bar whatever they are."""


def fields() -> dict[str, Any]:
    """What the panel is made of: every flag, every kind of device."""
    return {
        "groups": [
            {"title": title, "fields": [_field(flag) for flag in FLAGS if flag.group == group]}
            for group, title in GROUPS.items()
        ],
        "devices": [
            {"name": name, "title": one.title, "type": one.type, "memory": bytes_word(one.memory)}
            for name, one in DEVICES.items()
        ],
        "most_pattern": MAX_PATTERN,
    }


def _field(flag: Flag) -> dict[str, Any]:
    usual = getattr(Options(), flag.field)
    return {
        "field": flag.field,
        "names": list(flag.names),
        "help": flag.help,
        "brief": _BRIEF.get(flag.field, ""),
        "switch": flag.switch is not None,
        "choices": list(flag.choices),
        "usual": "" if flag.switch is not None else " ".join(_texts(flag, usual)),
        "own": flag.field in _OWN_EDITOR,
    }


def _texts(flag: Flag, value: Any) -> list[str]:
    return flag.show(value) if value or value == 0 or value is None else []


def values(options: Options) -> dict[str, Any]:
    """The value of every flag: true or false for a switch that is set or not, the texts of one that repeats, a text."""
    found: dict[str, Any] = {}
    for flag in FLAGS:
        value = getattr(options, flag.field)
        if flag.switch is not None:
            found[flag.field] = value == flag.switch
        else:
            texts = _texts(flag, value)
            found[flag.field] = texts if flag.repeat else " ".join(texts)
    return found


def model_facts(model: TracedModel, line: str) -> dict[str, Any]:
    """Plain data for the page.

    Args:
        model: as opened.
        line: its options as a line, defaults left out.
    """
    given = read_command(line)[0]
    options = model.taken.options
    return {
        "line": line,
        "command": command(options, model.name),
        "given": values(given),
        "filled": values(options),
        "summary": summary(given, options),
        "bufts": list(machine(options).override_places()),
        "source": model.taken.source,
        "differences": [None if one.differences is None else len(one.differences) for one in model.graphs],
        "notes": len(model.taken.notes),
        "architecture": facts(model.header).architecture,
        "seconds": round(model.seconds, 2),
    }


def summary(given: Options, filled: Options) -> list[str]:
    """The options in a few words each, for the top bar.

    Args:
        given: what was asked for.
        filled: with every default filled in.
    """
    told = [" + ".join(device_text(one) for one in given.devices) or "cpu"]
    for flag in FLAGS:
        asked, value = getattr(given, flag.field), getattr(filled, flag.field)
        if flag.field == "devices" or (asked == getattr(Options(), flag.field) and flag.field not in _SHORT):
            continue
        if flag.switch is not None:
            told.append(flag.names[0])
        elif flag.field == "overrides":
            told.append(f"{flag.names[0]} {len(value)} pattern{'' if len(value) == 1 else 's'}")
        else:
            told.append(f"{flag.names[0]} {' '.join(flag.show(value))}")
    return told


def totals_facts(splits: int, copied: int, rows: list[DeviceTotals]) -> dict[str, Any]:
    """The numbers of one graph that are compared when an option changes; sizes in bytes.

    Args:
        splits: of the graph.
        copied: bytes copied between devices per batch.
        rows: its devices.
    """
    return {
        "splits": splits,
        "copied": copied,
        "devices": {
            row.name: {
                "weights": row.weights,
                "KV": row.kept,
                "recurrent": row.recurrent,
                "compute": row.compute,
                "output": row.output,
            }
            for row in rows
        },
    }
