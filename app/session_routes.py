"""The routes of the Session view: the picture of a session, one of its ubatches, what can be played."""

from __future__ import annotations

from typing import Any

from flask import Flask, Response

from ..core.errors import InputError
from . import replies
from .session_view import SessionView
from .sessions import SessionStore


def add(server: Flask, store: SessionStore) -> None:
    """Add the routes to a server."""

    @server.get("/life/<session>.json")
    def life(session: str) -> Response:
        return replies.packed(lambda: view_of(store, session).scene)

    @server.get("/life/<session>/<int:number>.json")
    def ubatch(session: str, number: int) -> Response:
        return replies.told(lambda: view_of(store, session).ubatch(number))


def view_of(store: SessionStore, key: str) -> SessionView:
    """The played session of an id.

    Raises:
        SessionGone: it was dropped, or never was.
        InputError: the file of this id is no session.
    """
    found: SessionView | None = store.get(key).life
    if found is None:
        raise InputError("this file is no session of batches")
    return found


def opened_data(life: SessionView) -> dict[str, Any]:
    """What the page needs to know of a session at once."""
    return {"ubatches": len(life.life.ubatches), "base": life.base, "line": life.line}
