"""Finds the Chromium that the browser tests drive; with ``--install`` gets one when there is none.

An installed browser comes first, then Playwright's own download, then, for root on a machine with apt-get, the
system's package. Without any of them the browser tests are skipped and one line says so, or, with
``GALLOSCOPE_REQUIRE_BROWSER=1``, that is a failure. Only the standard library is imported.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

INSTALLED = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
REQUIRED = os.environ.get("GALLOSCOPE_REQUIRE_BROWSER") == "1"
NONE_FOUND = (
    "NO CHROMIUM FOUND: the browser tests are {}. Install the package chromium, or run: playwright install chromium"
)
DOWNLOADED = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


def run(command: Sequence[str], seconds: float, *, quiet: bool = True) -> str | None:
    """What a command printed, or None when it failed, hung or does not exist."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if quiet else sys.stderr,
            stderr=subprocess.DEVNULL if quiet else sys.stderr,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout or b"").decode(errors="replace").strip() if done.returncode == 0 else None


def works(path: str) -> bool:
    """Whether the browser starts: one without its libraries does not even tell its version."""
    return run([path, "--version"], 60) is not None


def find() -> str | None:
    """The path of a Chromium that starts, or None."""
    for name in INSTALLED:
        path = shutil.which(name)
        if path and works(path):
            return path
    path = run([sys.executable, "-c", DOWNLOADED], 60)
    return path if path and os.path.exists(path) and works(path) else None


def download() -> None:
    """Playwright's own browser; offline this fails in seconds."""
    run([sys.executable, "-m", "playwright", "install", "chromium"], 600)


def install_package() -> None:
    """Debian's browser, where this user may install packages."""
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
        run(["apt-get", "update", "-qq"], 300, quiet=False)
        run(["apt-get", "install", "-y", "-qq", "chromium"], 900, quiet=False)


def main() -> int:
    """Print the path on standard output; the exit code is 1 only when a browser is required and missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="get a browser when there is none")
    asked = parser.parse_args()
    path = find()
    for get in (download, install_package) if asked.install else ():
        if path is None:
            print(f"no Chromium yet: trying {get.__name__.replace('_', ' ')}", file=sys.stderr, flush=True)
            get()
            path = find()
    if path is None:
        print(NONE_FOUND.format("REQUIRED" if REQUIRED else "SKIPPED"), file=sys.stderr)
        return 1 if REQUIRED else 0
    print(f"browser tests use {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
