"""The routes that run a graph in the background: what can be run, start, progress, result, forget."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
from flask import Flask, Response, jsonify, request

from . import replies
from .figures.run import run_scene
from .jobs import Job
from .run_view import RunView
from .running import board_of, refusal, run_view, wish_of
from .sessions import SessionStore

WAIT = 0.5
"""Seconds a question about a run waits for news."""


def add(server: Flask, store: SessionStore) -> None:
    """Add the routes to a server."""

    def own(view: RunView) -> str:
        """The file whose weights may be read: only the one that the command line named."""
        opened = view.opened
        return store.own if opened is not None and opened.model is not None and opened.path == store.own else ""

    @server.get("/runs/<session>/<int:run>/board.json")
    def run_board(session: str, run: int) -> Response:
        """What can be run here."""
        return replies.told(lambda: board_of(view := store.view(session, run), own(view)))

    @server.post("/runs/<session>/<int:run>/run")
    def start_run(session: str, run: int) -> Response:
        """Begin, or say why not."""

        def make() -> dict[str, Any]:
            view = store.view(session, run)
            wish = wish_of(replies.asked())
            path = own(view) if wish.own else ""
            why = refusal(view, wish)
            if why is not None:
                return {"refused": why.sentence, "digest": why.digest, "failed": False}
            return _job(store.runs.start(lambda job: run_view(view, wish, path, job)), wish.backend)

        return replies.told(make)

    @server.get("/runs/<session>/<int:run>/job.json")
    def run_job(session: str, run: int) -> Response:
        """How far it is; waits a moment for news."""
        backend = request.args.get("backend", "")
        return replies.told(lambda: _job(store.runs.wait(request.args.get("job", ""), WAIT), backend))

    @server.post("/runs/cancel/<key>")
    def cancel_run(key: str) -> Response:
        store.runs.cancel(key)
        return jsonify({})

    @server.get("/runs/<session>/<int:run>/result.json")
    def run_result(session: str, run: int) -> Response:
        """What came out of the last run; `none` where there was none."""

        def make() -> bytes:
            done = store.view(session, run).running.done
            return gzip.compress(msgspec.json.encode({"none": True} if done is None else run_scene(done)), 6, mtime=0)

        return replies.packed(make)

    @server.post("/runs/<session>/<int:run>/clear")
    def clear_run(session: str, run: int) -> Response:
        """Forget it."""

        def make() -> dict[str, Any]:
            store.view(session, run).running.done = None
            return {}

        return replies.told(make)


def _job(job: Job, backend: str) -> dict[str, Any]:
    """How far it is; of numpy that failed, that fingerprints may do. A bug is raised, as `Jobs.wait` does."""
    if not job.done:
        return {"job": job.key, "stage": job.stage, "seconds": round(job.seconds, 1)}
    if job.failure is not None:
        raise job.failure
    if job.stopped:
        return {"job": "", "cancelled": True}
    if job.error:
        return {"job": "", "refused": job.error, "digest": backend != "digest", "failed": True}
    return {"job": ""}
