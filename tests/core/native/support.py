"""What the tests of the native capture share: the golden models, captures that are made once, and device shorthands."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from galloscope.core.llama.options import DeviceSpec, GraphMode, Options
from galloscope.core.llama.taken import Taken
from galloscope.core.native.capture import available, capture

MODELS = Path(__file__).resolve().parents[2] / "golden" / "models"
NAMES = sorted(path.stem for path in MODELS.glob("*.gguf"))
BOTH = (GraphMode.PREFILL, GraphMode.DECODE)
CUDA = DeviceSpec("cuda")

needs_wheel = pytest.mark.skipif(available() != "", reason=available() or "the wheel is there")


def model(name: str) -> Path:
    """A header-only model."""
    return MODELS / f"{name}.gguf"


_TAKEN: dict[bytes, Taken] = {}


def taken(name: str, options: Options, modes: Sequence[GraphMode] = BOTH) -> Taken:
    """A capture, made once per test run."""
    key = msgspec.json.encode((name, options, modes))
    if key not in _TAKEN:
        _TAKEN[key] = capture(model(name), options, modes)
    return _TAKEN[key]


def small(**changed: object) -> Options:
    """Options for a model of two layers: small context and micro-batch, the rest as given."""
    values: dict[str, object] = {"n_ctx": 256, "n_ubatch": 32, **changed}
    return Options(**values)  # type: ignore[arg-type]
