"""How routes read requests and answer them: JSON objects, sentences for what is wrong, gzipped bodies with a tag."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
from flask import Response, jsonify, request
from werkzeug.exceptions import HTTPException

from ..core.errors import GalloscopeError, InputError
from .sessions import SessionGone

PATHS = ("/open", "/job/", "/scene/", "/table/", "/planners", "/runs", "/timeline", "/life/")
"""Where everything is answered in JSON."""
MOST_ASKED = 64 << 10
"""Largest request to open something by name (bytes)."""


def asked() -> dict[str, Any]:
    """The JSON object of a small request.

    Raises:
        InputError: it is none; half a surrogate pair is no text either.
    """
    request.max_content_length = MOST_ASKED
    try:
        found = msgspec.json.decode(request.get_data(cache=False))
    except (msgspec.MsgspecError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError("the request cannot be read: an object in JSON is expected")
    return found


def file_name(usual: str) -> str:
    """What a file that was sent is called."""
    return request.args.get("name", usual)[:200]


def told(make: Callable[[], dict[str, Any]]) -> Response:
    """An answer, or the sentence why there is none: that is an answer too. A file that was let go is 404."""
    try:
        return jsonify(make())
    except SessionGone as error:
        return missing(error)
    except GalloscopeError as error:
        return jsonify({"error": str(error)})


def missing(error: SessionGone) -> Response:
    """For a file that was let go."""
    answer = jsonify({"error": str(error)})
    answer.status_code = 404
    return answer


def refused(error: HTTPException) -> Response | HTTPException:
    """What the server itself refuses (a method, a size, an origin): a sentence too, where JSON is expected."""
    if not request.path.startswith(PATHS):
        return error
    answer = jsonify({"error": f"{error.name}: {error.description}"})
    answer.status_code = error.code or 500
    return answer


def packed(make: Callable[[], bytes]) -> Response:
    """A gzipped JSON body with a tag, so that a reload costs nothing."""
    try:
        body = make()
    except SessionGone as error:
        return missing(error)
    except GalloscopeError as error:
        return jsonify({"error": str(error)})
    response = Response(body, mimetype="application/json")
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Cache-Control"] = "private, no-cache"
    response.set_etag(hashlib.blake2b(body, digest_size=12).hexdigest())
    response.make_conditional(request.environ)
    return response
