"""What every test shares: the hypothesis profiles and the Chromium of the browser tests."""

import os

# Before numpy is loaded: threads of its BLAS that wait for each other make a busy machine ten times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from galloscope.scripts.find_chromium import NONE_FOUND, REQUIRED, find

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Machines differ in speed: no deadline. GALLOSCOPE_HYPOTHESIS=soak searches for long.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("default"), max_examples=3000)
settings.load_profile(os.environ.get("GALLOSCOPE_HYPOTHESIS", "default"))


@cache
def chromium() -> str | None:
    """The browser to drive, looked for once and only when a test wants it."""
    path: str | None = find()
    return path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser, skip what drives one, or stop where a browser is required."""
    driving = [item for item in items if item.get_closest_marker("browser")]
    if not driving or chromium() is not None:
        return
    if REQUIRED:
        raise pytest.UsageError(NONE_FOUND.format("REQUIRED"))
    for item in driving:
        item.add_marker(pytest.mark.skip(reason="no Chromium"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One loud line when the browser tests did not run."""
    skipped = [r for r in terminalreporter.stats.get("skipped", ()) if "no Chromium" in str(r.longrepr)]
    if skipped:
        terminalreporter.write_line(NONE_FOUND.format(f"SKIPPED ({len(skipped)})"), red=True, bold=True)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Launch the Chromium that was found, with nothing that talks to the network."""
    return {**browser_type_launch_args, "executable_path": chromium(), "args": CHROMIUM_ARGUMENTS}
