"""A script as a file: JSON with a step a line, so that it can be read and changed by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from .script import SCHEMA, Script, Step


def write_script(script: Script) -> bytes:
    """A script as JSON, a step a line; what has its default is left out."""
    plain: dict[str, Any] = msgspec.to_builtins(script)
    about = {key: value for key, value in _less(plain, msgspec.to_builtins(Script())).items() if key != "steps"}
    lines = [f"  {_json(key)}: {_json(value)}" for key, value in {"schema": SCHEMA, **about}.items()]
    usual = msgspec.to_builtins(Step())
    steps = ",\n".join(f"    {_json(_less(step, usual))}" for step in plain["steps"])
    return ("{\n" + ",\n".join([*lines, f'  "steps": [\n{steps}\n  ]']) + "\n}\n").encode()


def _less(plain: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Only what differs; of a step's groups and of devices nulls are left out."""
    out: dict[str, Any] = {}
    for key, value in plain.items():
        if key in usual and value == usual[key]:
            continue
        if isinstance(value, dict) and isinstance(usual.get(key), dict):
            out[key] = _less(value, usual[key]) or value
        elif isinstance(value, list | tuple):
            out[key] = [
                {k: v for k, v in one.items() if v not in (None, "")} if isinstance(one, dict) else one for one in value
            ]
        else:
            out[key] = value
    return out


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
