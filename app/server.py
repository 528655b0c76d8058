"""The server of the page: a Dash app, and four plain routes for what is too large for a callback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dash
from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

from ..core.errors import InputError
from ..core.files.reading import MAX_BYTES
from ..core.gguf.read import NeedMoreBytes
from ..core.llama.arguments import read_command
from . import (
    ids,
    pages,
    planner_routes,
    replies,
    run_routes,
    security,
    session_open,
    session_routes,
    timeline_routes,
    views,
)
from .figures.matches import pattern_matches
from .figures.model import model_facts
from .jobs import Job
from .model_open import MAX_HEADER
from .sessions import Opened, SessionGone, SessionStore, is_model_source

ASSETS = Path(__file__).resolve().parent.parent / "assets"
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect y='9' width='10' height='5' fill='%232563eb'/%3E"
    "%3Crect x='6' y='3' width='10' height='5' fill='%23d97706'/%3E"
    "%3C/svg%3E"
)
INDEX = """<!DOCTYPE html>
<html lang="en">
  <head>
    {%metas%}
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>{%title%}</title>
    <link rel="icon" href="%ICON%">
    {%css%}
    <script src="/early.js"></script>
  </head>
  <body>
    {%app_entry%}
    <footer>{%config%}{%scripts%}{%renderer%}</footer>
  </body>
</html>"""


def create_app(first: str, host: str = "127.0.0.1", store: SessionStore | None = None, options: str = "") -> dash.Dash:
    """The app, not yet serving; `first` is the source that opens when the address names none.

    Args:
        first: `sample:NAME` or `path:FILE`.
        host: the address it will be bound to; requests that name another are refused.
        store: where traced files are kept.
        options: of `first`, when it is a GGUF: a line such as `-c 8192 --device cuda:24GiB`.
    """
    kept = SessionStore() if store is None else store
    kept.own = first.removeprefix("path:") if first.startswith("path:") else ""
    app = dash.Dash(
        "galloscope",
        assets_folder=str(ASSETS),
        assets_ignore=r"^(early\.js|report\..*)$",
        index_string=INDEX.replace("%ICON%", ICON),
        title="galloscope",
        update_title="",
        on_error=_gone,
        add_log_handler=False,
    )
    app.layout = pages.layout(first, options)
    for view in views.VIEWS.values():
        view.register(app, kept)
    _routes(app.server, kept)
    planner_routes.add(app.server, kept)
    run_routes.add(app.server, kept)
    timeline_routes.add(app.server, kept)
    session_routes.add(app.server, kept)
    app.server.config["MAX_CONTENT_LENGTH"] = MAX_BYTES
    app.server.register_error_handler(HTTPException, replies.refused)
    security.guard(app.server, host, app.csp_hashes)
    return app


JOB_WAIT = 1.0
"""Seconds a question about a job waits for news."""


def _gone(error: Exception) -> None:
    """A callback about a file that was let go: the page opens it again. Anything else is a bug."""
    if not isinstance(error, SessionGone):
        raise error
    dash.set_props(ids.OPENED, {"data": None})


def _routes(server: Flask, store: SessionStore) -> None:
    @server.get("/early.js")
    def early() -> Response:
        return Response((ASSETS / "early.js").read_bytes(), mimetype="text/javascript")

    @server.post("/open")
    def open_source() -> Response:
        return replies.told(lambda: _open(store, replies.asked()))

    @server.post("/open/gguf")
    def send_header() -> Response:
        """Takes the first bytes of a GGUF; answers with its source, or how many bytes are needed at least."""
        request.max_content_length = MAX_HEADER
        name = replies.file_name("uploaded.gguf")

        def take() -> dict[str, Any]:
            try:
                return {"source": store.headers.add(request.get_data(cache=False), name)}
            except NeedMoreBytes as short:
                if short.needed > MAX_HEADER:
                    raise InputError(f"{name}: its header is larger than {MAX_HEADER >> 20} MiB, none is") from None
                return {"need": short.needed}

        return replies.told(take)

    @server.post("/open/matches")
    def matches() -> Response:
        """Which weights each `-ot` pattern catches, while they are being typed."""
        return replies.told(lambda: _matches(store, replies.asked()))

    @server.get("/job/<key>")
    def job(key: str) -> Response:
        return replies.told(lambda: _job(store, store.jobs.wait(key, JOB_WAIT)))

    @server.post("/open/cancel/<key>")
    def cancel(key: str) -> Response:
        store.jobs.cancel(key)
        return jsonify({})

    @server.post("/open/upload")
    def upload() -> Response:
        title, base = replies.file_name("uploaded file"), request.args.get("base", "")
        return replies.told(lambda: _sent(store, request.get_data(cache=False), title, base))

    @server.get("/scene/<session>/<int:run>.json")
    def scene(session: str, run: int) -> Response:
        return replies.packed(lambda: store.view(session, run).scene)

    @server.get("/table/<session>/<int:run>.json")
    def table(session: str, run: int) -> Response:
        return replies.packed(lambda: store.view(session, run).table)


def _open(store: SessionStore, asked: dict[str, Any]) -> dict[str, Any]:
    source, line = str(asked.get("source", "")), str(asked.get("options", ""))
    life = session_open.open_life(store, source, line)
    if life is not None and not session_open.PRESET.fullmatch(source):
        return _told(store, life)
    if life is None and not is_model_source(source):
        return _opened(store.open_source(source))
    skipped = read_command(line)[1]
    told = _told(store, store.open_model(source, line) if life is None else life)
    return told if "error" in told else {**told, "skipped": skipped}


def _sent(store: SessionStore, data: bytes, title: str, base: str) -> dict[str, Any]:
    """What a browser has sent, a session for the model `base` or a file by itself."""
    if session_open.is_script(data, title):
        return _told(store, session_open.open_sent(store, data, title, base))
    return _opened(store.open_bytes(data, title, title))


def _told(store: SessionStore, found: Opened | Job) -> dict[str, Any]:
    return _job(store, found) if isinstance(found, Job) else _opened(found)


def _matches(store: SessionStore, asked: dict[str, Any]) -> dict[str, Any]:
    return pattern_matches(store.get(str(asked.get("session", ""))).model, asked.get("overrides"))


def _job(store: SessionStore, job: Job) -> dict[str, Any]:
    """How far it is, or what came out of it."""
    if not job.done:
        return {"job": job.key, "stage": job.stage, "seconds": round(job.seconds, 1)}
    if job.failure is not None:
        raise job.failure
    return {"error": job.error} if job.error else _opened(store.get(job.result))


def _opened(opened: Opened) -> dict[str, Any]:
    """What the page needs to know about an opened file."""
    if opened.buffers is not None:
        told = {"session": opened.key, "title": opened.title, "about": opened.look, "meta": {}}
        return {**told, "runs": [], "asked": 0, "model": None, "buffers": len(opened.buffers)}
    model, life = opened.model, opened.life
    problem = (opened.sessions[0] if life is None else opened.runs[0].run).problem
    return {
        "session": opened.key,
        "title": opened.title,
        "about": problem.about if life is None else life.log.script.about,
        "meta": {str(key): str(value) for key, value in problem.meta.items()},
        "runs": [
            {"abort": view.run.abort or "", "label": view.label, "totals": view.totals if model else None}
            for view in opened.runs
        ],
        "asked": sum(len(one.problem.requests) for one in opened.sessions),
        "life": None if life is None else session_routes.opened_data(life),
        "model": None if model is None else model_facts(model, opened.line),
        "buffers": None,
    }
