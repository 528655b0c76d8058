"""The server of the page: a Dash app, and four plain routes for what is too large for a callback."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import dash
from flask import Flask, Response, jsonify, request

from ..core.errors import GalloscopeError
from ..core.files.reading import MAX_BYTES
from . import ids, pages, security, views
from .sessions import Opened, SessionGone, SessionStore

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


def create_app(first: str, host: str = "127.0.0.1", store: SessionStore | None = None) -> dash.Dash:
    """The app, not yet serving; `first` is the source that opens when the address names none.

    Args:
        first: `sample:NAME` or `path:FILE`.
        host: the address it will be bound to; requests that name another are refused.
        store: where traced files are kept.
    """
    kept = SessionStore() if store is None else store
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
    app.layout = pages.layout(first)
    for view in views.VIEWS.values():
        view.register(app, kept)
    _routes(app.server, kept)
    app.server.config["MAX_CONTENT_LENGTH"] = MAX_BYTES
    security.guard(app.server, host, app.csp_hashes)
    return app


MOST_ASKED = 64 << 10
"""Largest request to open something by name (bytes)."""


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
        asked = request.get_json(silent=True) if (request.content_length or 0) <= MOST_ASKED else None
        return _opened(lambda: store.open_source(str(asked.get("source", "")) if isinstance(asked, dict) else ""))

    @server.post("/open/upload")
    def upload() -> Response:
        title = request.args.get("name", "uploaded file")[:200]
        return _opened(lambda: store.open_bytes(request.get_data(cache=False), title, title))

    @server.get("/scene/<session>/<int:run>.json")
    def scene(session: str, run: int) -> Response:
        return _packed(lambda: store.view(session, run).scene)

    @server.get("/table/<session>/<int:run>.json")
    def table(session: str, run: int) -> Response:
        return _packed(lambda: store.view(session, run).table)


def _opened(make: Callable[[], Opened]) -> Response:
    """What the page needs to know about an opened file, or the sentence why not: that is an answer too."""
    try:
        opened = make()
    except GalloscopeError as error:
        return jsonify({"error": str(error)})
    problem = opened.session.problem
    return jsonify(
        {
            "session": opened.key,
            "title": opened.title,
            "about": problem.about,
            "meta": {str(key): str(value) for key, value in problem.meta.items()},
            "runs": [{"abort": run.run.abort or ""} for run in opened.runs],
            "asked": len(problem.requests),
        }
    )


def _packed(make: Callable[[], bytes]) -> Response:
    """A gzipped JSON body with a tag, so that a reload costs nothing."""
    try:
        body = make()
    except SessionGone as error:
        answer = jsonify({"error": str(error)})
        answer.status_code = 404
        return answer
    response = Response(body, mimetype="application/json")
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Cache-Control"] = "private, no-cache"
    response.set_etag(hashlib.blake2b(body, digest_size=12).hexdigest())
    response.make_conditional(request.environ)
    return response
