"""YAML as people write it, read into plain values by JSON's rules: `off` is a word, and nothing refers to anything.

Values are built from the parser's events, never by a loader that makes objects. Scalars follow YAML 1.2: only `true`
and `false` are booleans, so `flash_attn: off` and `logits: none` mean what they say.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import yaml

from ..errors import InputError

MAX_YAML = 1 << 20
"""Bytes of a YAML file; the parser takes seconds for one of this size, JSON may be larger."""
MAX_DEPTH = 12
"""Of lists and objects inside each other; a script needs 6."""

_Plain: TypeAlias = Any
_INT = re.compile(r"[-+]?[0-9]{1,40}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,5})?")
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
          "null": None, "Null": None, "NULL": None, "~": None, "": None}  # fmt: skip


def parse_yaml(source: str) -> _Plain:
    """The one document of a text.

    Raises:
        InputError: it is no YAML, or uses anchors, aliases or tags, or is nested too deeply; with the line.
    """
    if len(source) > MAX_YAML:
        raise InputError(f"YAML of more than {MAX_YAML >> 20} MiB; write it as JSON")
    try:
        return _document(source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise InputError(f"{place}not YAML: {problem}") from None
    except (ValueError, OverflowError):  # an escape such as "\UFFFFFFFF" that is no character
        raise InputError("not YAML: an escape in a quoted text is no character") from None


def _document(source: str) -> _Plain:
    """Fold the events: a stack of unfinished lists and objects."""
    stack: list[_Open] = []
    root = _Open(None)
    documents = 0
    for event in yaml.parse(source, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1
        if getattr(event, "anchor", None) is not None:
            raise InputError(f"line {line}: anchors and aliases are not taken; write the value out")
        if getattr(event, "tag", None) is not None:
            raise InputError(f"line {line}: tags such as {event.tag[:40]!r} are not taken")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise InputError(f"line {line}: a second document; a script is one")
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            if len(stack) >= MAX_DEPTH:
                raise InputError(f"line {line}: nested more than {MAX_DEPTH} deep")
            stack.append(_Open([] if isinstance(event, yaml.SequenceStartEvent) else {}))
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            done = stack.pop()
            (stack[-1] if stack else root).put(done.value, line)
        elif isinstance(event, yaml.ScalarEvent):
            value = _scalar(event.value) if event.implicit[0] else event.value
            (stack[-1] if stack else root).put(value, line, event.value)
    return root.value


class _Open:
    """A list or an object that is being read, or the place of the document."""

    def __init__(self, value: _Plain) -> None:
        self.value = value
        self.key: str | None = None

    def put(self, value: _Plain, line: int, spelled: str | None = None) -> None:
        """The next item; in an object in turn a key, which is the text as it is spelled, and its value."""
        if isinstance(self.value, list):
            self.value.append(value)
        elif not isinstance(self.value, dict):
            self.value = value
        elif self.key is not None:
            self.value[self.key] = value
            self.key = None
        elif spelled is None:
            raise InputError(f"line {line}: a key that is a list or an object")
        elif spelled in self.value:
            raise InputError(f"line {line}: the key {spelled[:40]!r} stands there twice")
        else:
            self.key = spelled


def _scalar(text: str) -> _Plain:
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
