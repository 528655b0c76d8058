"""Options from arguments: galloscope's own, or a llama.cpp command as somebody pasted it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ..errors import InputError, nearest
from .flags import BY_NAME, FLASH_WORDS, read_value, set_value
from .options import DeviceSpec, FlashAttn, Options, Override
from .overrides import EXPERTS

MAX_COMMAND = 16 << 10
"""Longest pasted command (characters)."""


def read_words(words: Sequence[str]) -> Options:
    """Options from arguments.

    Raises:
        InputError: an unknown flag or an unusable value.
    """
    values, unknown = _read(words)
    if unknown:
        raise InputError(f"{unknown[0]}: no option of galloscope{nearest(unknown[0], BY_NAME)}")
    return Options(**values)


def read_command(text: str) -> tuple[Options, list[str]]:
    """Options from one line of text, and what was passed over: `llama-server -m x.gguf -ngl 20 --temp 0.7`.

    A command of llama.cpp has many flags that change neither graph nor memory, so an unknown flag is no error here.

    Raises:
        InputError: the line cannot be cut into words, or a known flag has an unusable value.
    """
    values, unknown = read_given(text)
    return Options(**values), unknown


def read_given(text: str) -> tuple[dict[str, Any], list[str]]:
    """The same, but only the options that the line names, by the attribute of `Options`.

    >>> read_given("llama-server -c 8192 -fa auto --temp 0.7")
    ({'n_ctx': 8192, 'flash_attn': <FlashAttn.AUTO: 'auto'>}, ['--temp'])

    Raises:
        InputError: the line cannot be cut into words, or a known flag has an unusable value.
    """
    if len(text) > MAX_COMMAND:
        raise InputError(f"the command is longer than {MAX_COMMAND:,} characters")
    try:
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise InputError(f"the command cannot be read: {str(error).lower()}; look at its quotes") from None
    if words and not words[0].startswith("-"):
        words = words[1:]
    return _read(words)


def _read(words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    unknown: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        name, equals, inline = word.partition("=") if word.startswith("--") else (word, "", "")
        position += 1
        following = words[position] if position < len(words) else None
        given = inline if equals else following
        flag = BY_NAME.get(name)
        if name in ("-cmoe", "--cpu-moe"):
            set_value(values, BY_NAME["-ot"], (Override(EXPERTS, "CPU"),), name)
        elif name in ("-dev", "--device") and given is not None and (found := _llama_devices(given)) is not None:
            values["devices"] = (*values.get("devices", ()), *found)
            position += not equals
        elif flag is None:
            unknown.append(word)
            if name.startswith("-") and not equals and following is not None and not _is_flag(following):
                position += 1  # taken for its value
        elif flag.switch is not None:
            if equals:
                raise InputError(f"{word}: {name} takes no value")
            values[flag.field] = flag.switch != (name in flag.undo)
        elif name in ("-fa", "--flash-attn") and not equals and _is_no_flash(following):
            values[flag.field] = FlashAttn.ON  # a switch, in older builds
        elif given is None or (not equals and given in BY_NAME):
            raise InputError(f"{name}: its value {flag.metavar} is missing")
        else:
            set_value(values, flag, read_value(flag, name, given), name)
            position += not equals
    return values, unknown


def _is_no_flash(word: str | None) -> bool:
    return word is None or (word.startswith("-") and word not in FLASH_WORDS)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word[1:].replace(".", "").isdecimal()


def _llama_devices(text: str) -> tuple[DeviceSpec, ...] | None:
    """Profiles for a list of llama.cpp's own device names (`CUDA0,CUDA1`, `none`); None when it is none."""
    from ..devices.known import DEVICES  # brings every profile along, and most commands name none

    kinds = {profile.backend.lower(): name for name, profile in DEVICES.items() if profile.numbered}
    if text == "none":
        return ()
    found = []
    for part in text.split(","):
        kind = part.rstrip("0123456789").lower()
        if kind == part.lower() or kind not in kinds:
            return None
        found.append(DeviceSpec(kinds[kind]))
    return tuple(found)
