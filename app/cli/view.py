"""Open the page in a browser: answers, graph, memory over time, and why each tensor is where it is.

Of a GGUF only the header is read; its options can be changed in the page.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import InputError
from ...core.gguf.magic import is_gguf
from ...core.llama.flags import words
from ..samples import FIRST, buffer_samples, samples, session_samples
from .inputs import Teller, models_folder
from .model_options import add_model_options, options_of, refuse_model_options

if TYPE_CHECKING:
    from ..jobs import Job
    from ..sessions import Opened, SessionStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope view`."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="GGUF, graph JSON, CSV of buffers or session (default: a sample)"
    )
    parser.add_argument(
        "--port", type=int, default=8050, help="port to listen on (default %(default)s, 0 for any free one)"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default %(default)s, this machine only)"
    )
    parser.add_argument(
        "--models", metavar="FOLDER", help="where the model of a session lies, if it is not beside its script"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from werkzeug.serving import make_server

    from ...core.llama.open import Origin
    from ..server import create_app
    from ..session_open import open_life
    from ..sessions import SessionStore

    store = SessionStore(origin=Origin(args.graphs or "auto"))
    folder = models_folder(args.models)
    store.models = None if folder is None else folder.resolve()
    source = source_of(args.file)
    line = start = ""
    if args.file is not None and is_gguf(args.file):
        line = shlex.join(words(options_of(args)))
        open_first(store, store.open_model(source, line))
        start = "/?run=1" if args.mode == "decode" else ""  # prefill and decode are its two tabs
    else:
        refuse_model_options(args, args.file)
        life = open_life(store, source)
        if life is None:
            store.open_source(source)
        else:
            open_first(store, life)
    listening = listen(args.host, args.port)
    with listening:
        port = listening.getsockname()[1]
        app = create_app(source, args.host, store, line)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        server = make_server(args.host, port, app.server, threaded=True, fd=listening.fileno())
        address = f"http://{_shown(args.host)}:{port}{start}"
        print(f"galloscope is at {address}  (Ctrl+C ends it)", flush=True)
        if not args.no_browser and has_display():
            threading.Timer(0.2, webbrowser.open, [address]).start()
        server.serve_forever()
    return 0


def open_first(store: SessionStore, opened: Opened | Job) -> None:
    """Wait for a model or a session before the browser asks for it, so that what is wrong is told here.

    Raises:
        InputError: the file or an option is unusable.
    """
    from ..sessions import Opened

    told = Teller()
    while not isinstance(opened, Opened) and not opened.done:
        opened = store.jobs.wait(opened.key, 1.0)
        told.say(opened.stage)
    told.end()
    if not isinstance(opened, Opened) and opened.error:
        raise InputError(opened.error)


def source_of(file: str | None) -> str:
    """What the server opens for FILE; a file that comes with galloscope is the sample, with its title."""
    if file is None:
        return f"sample:{FIRST}"
    path = Path(file).resolve()
    known = samples() + buffer_samples() + session_samples()
    found = next((sample for sample in known if sample.path == path), None)
    return f"path:{path}" if found is None else f"sample:{found.name}"


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, made here so that a taken port is a sentence and no traceback.

    Raises:
        InputError: the address cannot be used.
    """
    if not 0 <= port < 65536:
        raise InputError(f"--port {port}: a port is a number from 0 to 65535")
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        other = port + 1 if 0 < port < 65535 else 0
        why = error.strerror or error
        raise InputError(f"cannot listen on {host}:{port} ({why}); try another port with --port {other}") from None
    return made


def has_display() -> bool:
    """Whether opening a browser can work at all: not over ssh, not in a container."""
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def _shown(host: str) -> str:
    """An address that a browser can open."""
    if host in ("0.0.0.0", "::", ""):
        return "localhost"
    return f"[{host}]" if ":" in host else host
