"""What the server answers to whom: this machine's pages only, and pages that can reach nothing else."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence

from flask import Flask, Response, abort, request

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
HEADER = "X-Galloscope"
"""A POST must carry it: a page of another origin cannot send it without asking first, and is refused then."""


def host_of(header: str) -> str:
    """The host in a Host header, without port and brackets.

    >>> host_of("localhost:8050"), host_of("[::1]:8050"), host_of("[::1]")
    ('localhost', '::1', '::1')
    """
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def allowed(header: str, bound: str) -> bool:
    """Whether a Host header names this server, bound to `bound`.

    A page elsewhere can make its own name resolve to 127.0.0.1 and so talk to us from a browser here; the header then
    carries that name. A server bound to all addresses also takes any address, as a bare address cannot be rebound.

    >>> allowed("127.0.0.1:8050", "127.0.0.1"), allowed("evil.example:8050", "127.0.0.1")
    (True, False)
    >>> allowed("192.168.0.7:8050", "0.0.0.0"), allowed("evil.example", "0.0.0.0")
    (True, False)
    """
    host = host_of(header)
    if host in LOCAL or host == host_of(bound) or host == bound.lower():
        return True
    if bound not in ("0.0.0.0", "::", ""):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def policy(script_hashes: Sequence[str]) -> str:
    """The content security policy: everything from here. Styles are set by the component libraries while they run."""
    scripts = " ".join(["'self'", *(f"'{one}'" if not one.startswith("'") else one for one in script_hashes)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def guard(server: Flask, bound: str, hashes: Callable[[], Sequence[str]]) -> None:
    """Check every request and add the headers to every answer."""

    @server.before_request
    def check() -> None:
        if not allowed(request.headers.get("Host", ""), bound):
            abort(403, "this server answers to its own name only")
        if (
            request.method == "POST"
            and request.path.startswith(("/open", "/planners", "/runs"))
            and HEADER not in request.headers
        ):
            abort(403, f"the header {HEADER} is missing")

    @server.after_request
    def seal(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", policy(hashes()))
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Referrer-Policy", "no-referrer")
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response
