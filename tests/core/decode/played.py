"""Small sessions, written as people write them and played on the made-up models."""

from pathlib import Path
from typing import Any

from galloscope.core.decode.life import Life, fold
from galloscope.core.decode.log import LifeLog
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.script import Script
from galloscope.core.decode.session import play
from galloscope.core.gguf.read import read_header

MODELS = Path(__file__).parent.parent.parent / "golden" / "models"
GPU = "{name: GPU0, alignment: 128}"


def script(steps: str, model: str = "llama", more: str = "", **context: Any) -> Script:
    """`steps` is YAML: a list of calls."""
    about = ", ".join(f"{key}: {str(value).lower()}" for key, value in context.items())
    text = f"model: {model}.gguf\ncontext: {{{about}}}\n{more}\nsteps: {steps}\n"
    return parse_script(text.encode(), "written")


def played(steps: str, model: str = "llama", more: str = "", **context: Any) -> tuple[LifeLog, Life]:
    log = play(script(steps, model, more, **context), read_header(MODELS / f"{model}.gguf"))
    return log, fold(log)
