"""The picture and the page of a session: bars, folding, lanes, words, themes; and the command that writes them."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.app.cli import main
from galloscope.app.figures.session import (
    MOVED,
    REBUILT,
    REFUSED,
    REPLANNED,
    RESERVE,
    REUSED,
    STOPPED,
    UPDATE,
    kind_of,
)
from galloscope.app.report.session_bars import bars_of, put_together
from galloscope.app.report.session_chart import KIND_HUES, MARK_HUES
from galloscope.app.report.session_page import session_html
from galloscope.app.report.session_svg import PAGE, session_svg
from galloscope.core.decode.life import Life, fold
from galloscope.core.decode.log import LifeLog
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.script import Script
from galloscope.core.decode.session import play
from galloscope.core.gguf.read import read_header

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "sample_sessions"
HOSTILE = "<script>&\"'\x1b[31m"


def script(name: str) -> Script:
    return parse_script((SAMPLES / f"{name}.session.json").read_bytes(), name)


def played(one: Script) -> tuple[LifeLog, Life]:
    log = play(one, read_header(SAMPLES / one.model))
    return log, fold(log)


@pytest.fixture(scope="module")
def half() -> tuple[LifeLog, Life]:
    return played(script("half-on-a-gpu"))


@pytest.fixture(scope="module")
def pipeline() -> tuple[LifeLog, Life]:
    return played(script("two-gpus"))


@pytest.fixture(scope="module")
def slots() -> tuple[LifeLog, Life]:
    return played(script("four-slots"))


def words(text: str) -> str:
    root = ET.fromstring(text)
    return " ".join("".join(node.itertext()) for node in root.iter() if node.tag.endswith("}text"))


def titles(text: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(text).iter() if node.tag.endswith("}title")]


def test_bars_fold_what_is_re_used(half: tuple[LifeLog, Life]) -> None:
    bars = bars_of(half[1])
    assert [bar.kind for bar in bars[:5]] == [REBUILT, REUSED, REBUILT, REPLANNED, REUSED]
    assert [(bar.first, bar.last) for bar in bars[:5]] == [(0, 0), (1, 3), (4, 4), (5, 5), (6, 28)]
    assert MOVED in {bar.kind for bar in bars}
    assert put_together(bars) == 1


@given(most=st.integers(1, 60))
def test_bars_cover_every_ubatch_once(slots: tuple[LifeLog, Life], most: int) -> None:
    life = slots[1]
    bars = bars_of(life, most)
    assert len(bars) <= most
    assert [number for bar in bars for number in range(bar.first, bar.last + 1)] == list(range(len(life.ubatches)))
    for bar in bars:
        inside = life.ubatches[bar.first : bar.last + 1]
        assert bar.kind == max(map(kind_of, inside))
        assert bar.tokens == max(one.ubatch.n_tokens for one in inside)


def test_the_picture_says_what_happened(half: tuple[LifeLog, Life]) -> None:
    text = session_svg(*half)
    told = words(text)
    assert told.startswith("half-on-a-gpu A chat with half of the layers on a GPU")
    assert "168 of 180 ubatches re-used" in told
    for said in (
        "re-used: 168",
        "rebuilt: 4",
        "planned anew: 7",
        "buffers made anew: 1",
        "× 39",
        "decode 1 token × 60",
    ):
        assert said in told, said
    for cells in ("256", "512", "768", "1,024", "1,280"):
        assert f" {cells} " in told, cells
    assert "7 × the number of tokens changed. Ubatch 5: Rebuilt because the number of tokens was 44 and is 1" in told
    assert "GPU_Host 1.06 MiB 1.76 MiB 1.76 MiB" in told
    assert "ubatch 139: buffers made anew, 31 tokens, n_kv 1,280; n_tokens 52, now 31" in titles(text)
    assert "Pipeline parallelism" not in told


def test_a_bar_has_the_colour_of_what_became_of_it(pipeline: tuple[LifeLog, Life]) -> None:
    text = session_svg(*pipeline)
    bars = {
        title: fill
        for fill, title in re.findall(r'<rect [^>]*fill="(#\w+)"[^>]*><title>(ubatch(?:es)? [^<]*)</title>', text)
    }
    aborted = next(fill for title, fill in bars.items() if title.startswith("ubatch 67:"))
    assert aborted == KIND_HUES[STOPPED].light
    assert next(fill for title, fill in bars.items() if title.startswith("ubatches 8 to 36: re-used")) == (
        KIND_HUES[REUSED].light
    )
    assert "Pipeline parallelism" in words(text)
    assert "✓ all layers and the output are offloaded" in words(text)


def test_addresses_are_blocks(half: tuple[LifeLog, Life], slots: tuple[LifeLog, Life]) -> None:
    blocks = [title for title in titles(session_svg(*half)) if title.endswith("no tensor moves")]
    assert blocks[0] == "ubatches 0 to 4: no tensor moves"
    assert blocks[-1] == "ubatches 139 to 179: no tensor moves"
    assert len(blocks) == 9
    assert "ubatches 0 to 142: no tensor moves" in titles(session_svg(*slots))


def test_marks_stand_where_something_happened(slots: tuple[LifeLog, Life]) -> None:
    text = session_svg(*slots)
    told = titles(text)
    assert any("streams were copied" in title for title in told)
    assert any("begins at position 9 in the batch" in title for title in told)
    fills = re.findall(r'<path d="[^"]*" fill="(#\w+)"><title>', text)
    assert fills == [MARK_HUES[kind].light for kind in (RESERVE, UPDATE, REFUSED)], "a reservation after a copy is one"


def test_the_same_session_gives_the_same_bytes(half: tuple[LifeLog, Life]) -> None:
    assert session_svg(*half) == session_svg(*half)
    assert session_html(*half) == session_html(*half)


def test_both_themes(half: tuple[LifeLog, Life]) -> None:
    text = session_svg(*half)
    style = text[text.index("<style>") : text.index("</style>")]
    used = set(re.findall(r'(?:fill|stroke)="(#\w+)"', text))
    for colour in used:
        assert f'[fill="{colour}"]' in style, f"{colour} has no dark counterpart"
    lights = [hue.light for hue in (*PAGE, *KIND_HUES)]
    assert len(lights) == len(set(lights)) + 1, "only the peak's red is two things"


def test_the_page_has_the_same_colours() -> None:
    tokens = (ROOT / "assets" / "tokens.css").read_text()
    names = ("reused", "rebuilt", "replanned", "moved", "stopped")
    light, dark = tokens.split("data-mantine-color-scheme")
    for name, hue in zip(names, KIND_HUES, strict=True):
        assert f"--gs-life-{name}: {hue.light};" in light
        assert f"--gs-life-{name}: {hue.dark};" in dark


def test_hostile_names_stay_words() -> None:
    one = msgspec.structs.replace(script("embedding-requests"), name=HOSTILE, about=HOSTILE)
    log, life = played(one)
    for text in (session_svg(log, life), session_html(log, life)):
        assert "<script>" not in text
        assert "\x1b" not in text
    assert "<script>&\"'" in words(session_svg(log, life))


@pytest.mark.parametrize("steps", [(), script("four-slots").steps[3:4]])
def test_nothing_was_decoded(steps: tuple[object, ...]) -> None:
    log, life = played(msgspec.structs.replace(script("four-slots"), steps=steps))
    told = words(session_svg(log, life))
    assert "Reserved because the context is made: 3 graphs split to probe; pp of 64 tokens" in told
    assert "Why graphs were rebuilt" not in told
    ET.fromstring(session_svg(log, life))


def test_many_rebuilds_share_bars() -> None:
    first, *rest = script("four-slots").steps
    turns = [msgspec.structs.replace(step, repeat=1) for step in rest[:2]]
    one = msgspec.structs.replace(script("four-slots"), steps=(first, *turns * 300))
    log, life = played(one)
    text = session_svg(log, life)
    assert "ubatches share a bar, which has the colour of the worst of them." in words(text)
    assert len(text) < 200_000


def test_the_process_ends() -> None:
    one = script("half-on-a-gpu")
    context = msgspec.structs.replace(one.context, n_batch=64)
    log, life = played(msgspec.structs.replace(one, context=context))
    assert "The process ends here: GGML_ASSERT(n_tokens_all" in words(session_svg(log, life))


def test_the_page_tells_every_rebuild(half: tuple[LifeLog, Life], pipeline: tuple[LifeLog, Life]) -> None:
    log, life = half
    text = session_html(log, life)
    assert text.count("<h3>") == sum(not one.reused for one in life.ubatches)
    assert text.count("<svg") == 1
    assert "<h2>Step 6: decode 500 tokens</h2>" in text
    assert "waited for its devices" not in session_html(*pipeline)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(SAMPLES / "half-on-a-gpu.session.json")
    for name in ("life.svg", "life.html"):
        out = tmp_path / name
        assert main(["session", source, "-o", str(out)]) == 0
        assert capsys.readouterr().out == f"{out}: {out.stat().st_size:,} bytes\n"
        assert "168 of 180 ubatches re-used" in out.read_text(encoding="utf-8")
        before = out.read_bytes()
        assert main(["session", source, "-o", str(out)]) == 2
        assert "exists; choose another name or say --force" in capsys.readouterr().err
        assert out.read_bytes() == before
        assert main(["session", source, "-o", str(out), "--force"]) == 0
        capsys.readouterr()
    assert main(["session", source, "-o", str(tmp_path / "life.png")]) == 2
    assert "end the name in .svg or .html" in capsys.readouterr().err
