"""docs/decode.md: outputs and pictures are what the commands give today, and the questions it promises have answers."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from galloscope.core.native.capture import available

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = (
    "Why is n_ubatch in the compute buffer when I run one prompt?",
    "Why did another GPU give out of memory instead of room?",
    "Why is so much reserved for logits that I never read?",
    "Why did llama-bench need 505 MiB and, once mended, 132?",
    "Where do pipeline copies go, and how do I turn them off?",
    "Why exactly four masks per device?",
    "Which rule turns pipeline parallelism on?",
    "Why many splits for 512 tokens and few for one?",
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("decode_doc", ROOT / "scripts" / "decode_doc.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(bool(available()), reason=available())
def test_outputs_and_pictures_are_those_of_today(script: ModuleType) -> None:
    page = script.OUT.read_text(encoding="utf-8")
    text, pictures = script.made(page)
    assert text == page
    assert pictures
    assert set(re.findall(r"!\[[^]]*\]\((.+?)\)", page)) == set(pictures)
    for name, data in pictures.items():
        assert (ROOT / "docs" / name).read_bytes() == data, name
        assert len(data) < 60_000, name


def test_every_block_is_a_command_or_a_script(script: ModuleType) -> None:
    page = script.OUT.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 20
    for kind, text in blocks:
        assert text.startswith("# " if kind == "yaml" else "$ galloscope "), text


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_a_command_its_output_and_a_few_sentences(question: str, script: ModuleType) -> None:
    page = script.OUT.read_text(encoding="utf-8")
    answer = page.split(f"### {question}\n")[1].split("\n### ")[0].split("\n## ")[0]
    block = re.search(r"```\n\$ galloscope .+\n(?:.+\n)+", answer)
    assert block is not None
    prose = re.sub(r"```.*?```", "", answer, flags=re.DOTALL)
    assert len(re.findall(r"[.!](?:\s|$)", prose)) >= 2
