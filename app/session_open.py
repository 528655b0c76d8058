"""Opening sessions of batches: a script from a path, a sample, a browser, or a preset for a model."""

from __future__ import annotations

import hashlib
import re
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec

from ..core.decode.from_options import is_causal, under_options
from ..core.decode.log import LifeLog
from ..core.decode.presets import make_preset
from ..core.decode.read import model_path, parse_script
from ..core.decode.script import Script
from ..core.decode.session import play
from ..core.errors import InputError
from ..core.files.reading import read_bytes, unpack
from ..core.gguf.header import Header
from ..core.gguf.magic import is_gguf
from ..core.gguf.read import parse_header, read_header
from ..core.llama.arguments import read_given
from ..core.llama.flags import given_words
from .jobs import Job
from .model_open import model_key
from .samples import SESSIONS, Sample, find_sample
from .session_view import SessionView
from .sessions import Opened, SessionStore

PRESET = re.compile(r"preset:(\w{1,40})@(.+)", re.DOTALL)
"""The source of a preset: its name and the source of the model it is played on."""
MOST_TOLD = 40
"""Times that progress is told in one session."""


BESIDE_MODEL = {"context", "devices", "model_params"}
"""With a key `model`, any of these makes a JSON object a script, though its `steps` may be mistyped."""


def is_script(data: bytes, where: str) -> bool:
    r"""Whether a file is meant to be a script: YAML with a key `steps`, or JSON with the keys of one, not of a graph.

    JSON that is broken is meant to be one where it names `steps`: then the error is that of a script.

    >>> is_script(b'{"steps": []}', ""), is_script(b'{"tensors": []}', ""), is_script(b"model: a.gguf\nsteps:\n", "")
    (True, False, True)
    >>> is_script(b'{"model": "a.gguf", "context": {}, "stpes": []}', ""), is_script(b'{"steps": [}', "")
    (True, True)
    """
    plain = unpack(data, where)
    if plain.lstrip()[:1] != b"{":
        return re.search(rb"^steps[ \t]*:", plain, re.MULTILINE) is not None
    try:
        found = msgspec.json.decode(plain, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return b'"steps"' in plain and b'"tensors"' not in plain
    if "tensors" in found:
        return False
    own = bytes(found.get("schema", b"")).startswith(b'"llama-session')
    return own or "steps" in found or ("model" in found and bool(BESIDE_MODEL & found.keys()))


def script_at(path: str) -> bytes | None:
    """The bytes of a path when it is a script; None for everything else, which is not told apart here."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode) or is_gguf(path):
            return None
        data = read_bytes(path)
        return data if is_script(data, path) else None
    except (OSError, ValueError, InputError):
        return None


def open_life(store: SessionStore, source: str, line: str = "") -> Opened | Job | None:
    """The session of a source, None where that is something else; a preset is played under a line of options.

    Raises:
        InputError: it is one, and cannot be played.
    """
    kind, _, rest = source.partition(":")
    if kind == "preset":
        return open_preset(store, source, line)
    if kind == "sample":
        sample = find_sample(rest)
        return open_sample(store, sample) if sample.kind == "session" else None
    script = script_at(rest) if kind == "path" else None
    return open_path(store, rest, script) if script is not None else None


def open_path(store: SessionStore, path: str, data: bytes) -> Opened | Job:
    """A script on this machine; its model lies beside it, or in the folder of --models.

    Raises:
        InputError: the script is wrong, or its model is missing.
    """
    script = parse_script(data, path)
    base = f"path:{model_path(script, path, store.models)}"
    _, key, header = _model(store, base)
    return _open(store, script, data, key, header, base)


def open_sample(store: SessionStore, sample: Sample) -> Opened | Job:
    """A session that comes with galloscope."""
    data = sample.path.read_bytes()
    script = parse_script(data, sample.name)
    model = SESSIONS / script.model
    return _open(store, script, data, model_key(str(model), ""), lambda: _cut(model), look=sample.look)


def _cut(path: Path) -> Header:
    """A header without the data behind it, as the samples' models are."""
    return parse_header(path.read_bytes(), path.name)


def open_sent(store: SessionStore, data: bytes, name: str, base: str) -> Opened | Job:
    """A script from a browser.

    Its model is the one that is open in the page (source `base`), by the same name, else a file of that name in the
    folder of --models. The name has no folders in it, so that nothing outside of that folder is asked for.

    Raises:
        InputError: the script is wrong, or its model is neither open nor there.
    """
    script = parse_script(data, name)
    known = _model(store, base) if base else None
    if (known is None or known[0] != script.model) and store.models is not None:
        there = store.models / script.model
        if there.is_file():
            base = f"path:{there}"
            known = _model(store, base)
    if known is None or known[0] != script.model:
        has = f"the page has {known[0]} open" if known else "no model is open"
        raise InputError(
            f"{name}: its model is {script.model}, and {has}: open that file first and drop the session again, "
            "open the session by its path with the model beside it, or start `galloscope view` with --models FOLDER"
        )
    return _open(store, script, data, known[1], known[2], base)


def open_preset(store: SessionStore, source: str, line: str = "") -> Opened | Job:
    """A preset, played on a model under a line of options.

    Raises:
        InputError: there is no such preset or model, or the options cannot be used.
    """
    found = PRESET.fullmatch(source)
    if found is None:
        raise InputError("a preset is opened as preset:NAME@path:MODEL")
    name, base = found.groups()
    file, key, header = _model(store, base)
    parts = header()
    given = read_given(line)[0]
    script = under_options(make_preset(name, file, _layers(parts)), given, causal=is_causal(parts))
    line = shlex.join(given_words(given))
    return _open(store, script, f"{source}\0{line}".encode(), key, lambda: parts, base, line=line)


def _layers(header: Header) -> int:
    value = header.metadata.get(f"{header.architecture}.block_count")
    return value if isinstance(value, int) else 2


def _model(store: SessionStore, base: str) -> tuple[str, str, Callable[[], Header]]:
    """Name, id and header of a model that the page has open.

    Raises:
        InputError: it is none, or was let go.
    """
    kind, _, rest = base.partition(":")
    if kind == "path":
        key = model_key(rest, "")
        if not is_gguf(rest):  # said here, as the reader would quote how the file begins
            raise InputError(f"{rest}: not a GGUF file")
        return Path(rest).name, key, lambda: read_header(rest)
    if kind != "header":
        raise InputError("a session needs a model: open a GGUF first")
    name, data = store.headers.get(rest)
    return name, model_key(data, ""), lambda: parse_header(data, name)


def _open(
    store: SessionStore,
    script: Script,
    data: bytes,
    model: str,
    header: Callable[[], Header],
    base: str = "",
    look: str = "",
    line: str = "",
) -> Opened | Job:
    """The session of these bytes on this model: at once when it is known, else in the background."""
    key = hashlib.blake2b(b"session\0" + model.encode() + b"\0" + data, digest_size=8).hexdigest()
    known = store.known(key)
    if known is not None:
        return known

    def work(job: Job) -> str:
        job.say("reading the model")
        log = _play(script, header(), job)
        return store.keep(Opened.of_life(key, SessionView(log, base, line), look)).key

    return store.jobs.start(work)


def _play(script: Script, header: Header, job: Job) -> LifeLog:
    def progress(done: int, total: int) -> None:
        if job.is_stopped():
            raise InputError("playing the session was cancelled")
        if done % max(1, total // MOST_TOLD) == 0:
            job.say(f"playing call {done:,} of {total:,}")

    log = play(script, header, progress=progress)
    if not log.runs:
        raise InputError(f"{script.name}: llama.cpp would stop before the first graph: {log.abort}")
    job.say("adding up")
    return log
