"""report.html: the page in one file. The same scripts and data, inlined; opens from a disk, asks no network."""

from __future__ import annotations

import base64
import gzip
import html
from pathlib import Path
from typing import Any

import msgspec

from ... import __version__
from ...core.check.checker import check
from ...core.explain.answers import answers
from ...core.explain.stats import stats
from ...core.explain.usage import kind_of
from ...core.explain.why import why
from ...core.state import State
from ...core.text import bytes_text, shape_text
from ..figures.scene import scene_of
from .about import About, facts_line

ASSETS = Path(__file__).resolve().parent.parent.parent / "assets"
SCRIPTS = ("format.js", "card.js", "strip*.js", "dag*.js", "report.js")
STYLES = ("tokens.css", "components.css", "report.css")
MOST_WHY = 6000
"""Graphs with more tensors explain only those that a reader meets first: peaks, split inputs, outputs."""
MOST_ROWS = 200


def report_html(
    state: State, title: str, meta: dict[str, Any], source: str, about: About | None = None, more: str = ""
) -> str:
    """The report of a run; the same state gives the same bytes.

    `about` is the model that the graph was made of, `more` the markup of a further part.
    """
    numbers = stats(state)
    data = gzip.compress(msgspec.json.encode({"scene": scene_of(state), "why": _why(state, numbers)}), 9, mtime=0)
    return _PAGE.format(
        title=html.escape(title or source),
        facts=html.escape(" · ".join(facts_line(source, meta, numbers))),
        about="" if about is None else _about(about),
        style="\n".join(_assets(STYLES)),
        answers="".join(_answer(sentence) for sentence in answers(state, check(state))),
        devices=_devices(numbers),
        splits=_splits(state, numbers),
        peaks=_peaks(state, numbers),
        more=more,
        version=html.escape(__version__),
        data=base64.b64encode(data).decode("ascii"),
        scripts="\n".join(f"<script>\n{text}\n</script>" for text in _assets(SCRIPTS)),
    )


def _about(about: About) -> str:
    """The command, what to know, and a table of the devices' memory."""
    rows = [
        (
            "",
            [
                row.name,
                *(bytes_text(size) if size else "–" for size in (row.weights, row.kept, row.recurrent, row.compute)),
                bytes_text(row.output) if row.output else "–",
                bytes_text(row.total),
                "–" if row.memory is None else bytes_text(row.memory),
            ],
        )
        for row in about.devices
    ]
    head = ["device", "weights", "KV", "recurrent", "compute", "output", "sum", "memory"]
    told = "".join(f"<li>{html.escape(one)}</li>" for one in about.told)
    return f"<p><code>{html.escape(about.command)}</code></p>\n<ul class=gs-muted>{told}</ul>\n" + _table(
        head, rows, set(range(1, 8)), set()
    )


def _assets(patterns: tuple[str, ...]) -> list[str]:
    """The files' texts; a closing script tag inside one would end it early."""
    paths = [path for pattern in patterns for path in sorted(ASSETS.glob(pattern))]
    return [path.read_text(encoding="utf-8").replace("</script", "<\\/script") for path in paths]


def _why(state: State, numbers: dict[str, Any]) -> dict[str, list[tuple[int, list[tuple[str, str]]]]]:
    """Tensor id -> its sentences as (evidence, styled pieces)."""
    wanted: list[int] = list(range(len(state.tensors)))
    if len(wanted) > MOST_WHY:
        index = {name: tensor for tensor, name in enumerate(state.names)}
        met = {index[row["tensor"]] for one in numbers["devices"] for row in one["at_peak"]}
        met.update(tensor for split in state.splits for tensor in split.inputs)
        wanted = sorted(met)[:MOST_WHY]
    return {str(tensor): [(one.tensor, one.parts) for one in why(state, tensor)] for tensor in wanted}


def _answer(sentence: Any) -> str:
    marks = {"strong": "strong", "name": "code"}
    inner = "".join(
        f"<{marks[style]}>{html.escape(words)}</{marks[style]}>" if style else html.escape(words)
        for words, style in sentence.parts
    )
    target = f' data-split="{sentence.split}"' if sentence.split >= 0 else ""
    target = f' data-tensor="{sentence.tensor}"' if sentence.tensor >= 0 else target
    classes = " ".join(name for name, on in (("gs-link", target), ("gs-alarm", sentence.alarm)) if on)
    return f'<li class="{classes}"{target}>{inner}</li>'


def _table(head: list[str], rows: list[tuple[str, list[str]]], right: set[int], mono: set[int]) -> str:
    def cell(k: int, words: str, tag: str) -> str:
        name = "gs-right" if k in right else "gs-mono" if k in mono and tag == "td" else ""
        return f"<{tag}{name and f' class={name}'}>{html.escape(words)}</{tag}>"

    lines = [f"<tr>{''.join(cell(k, words, 'th') for k, words in enumerate(head))}</tr>"]
    lines += [f"<tr{data}>{''.join(cell(k, words, 'td') for k, words in enumerate(row))}</tr>" for data, row in rows]
    return f"<table>{''.join(lines)}</table>"


def _devices(numbers: dict[str, Any]) -> str:
    rows = [
        ("", [one["name"], one["buft"], bytes_text(one["compute_bytes"]), bytes_text(one["peak_live_bytes"]),
              f"{one['peak_step']:,}", f"{100 * one['fragmentation']:.1f} %", bytes_text(one["sum_bytes"])])
        for one in numbers["devices"]
    ]  # fmt: skip
    head = ["device", "buffer type", "compute", "most alive", "at step", "wasted", "sum of tensors"]
    return _table(head, rows, {2, 3, 4, 5, 6}, set())


def _splits(state: State, numbers: dict[str, Any]) -> str:
    rows = []
    largest = sorted(numbers["splits"], key=lambda one: (-one["copied_bytes"], one["split"]))[:MOST_ROWS]
    for one in sorted(largest, key=lambda one: int(one["split"])):
        span = f"{one['start']}-{one['end'] - 1}" if one["nodes"] else "-"
        by = f"{one['reason']}: {one['by']}" if one["by"] else one["reason"]
        cells = [str(one["split"]), one["backend"], span, str(len(one["inputs"])), bytes_text(one["copied_bytes"]), by]
        rows.append((f' data-split="{one["split"]}" class="gs-link"', cells))
    if not rows:
        return "<p class=gs-muted>No scheduler, so no splits.</p>"
    total = (
        f"<p class=gs-muted>{len(state.splits):,} splits, {bytes_text(numbers['copied_bytes'])} copied per batch</p>"
    )
    return total + _table(["split", "device", "nodes", "inputs", "copied", "cut by"], rows, {0, 3, 4}, {5})


def _peaks(state: State, numbers: dict[str, Any]) -> str:
    top = max(numbers["devices"], key=lambda one: one["compute_bytes"], default=None)
    if top is None or not top["at_peak"]:
        return "<p class=gs-muted>Nothing is allocated.</p>"
    index = {name: tensor for tensor, name in enumerate(state.names)}
    rows = []
    for one in top["at_peak"][:MOST_ROWS]:
        tensor = index[one["tensor"]]
        shape = f"{state.tensors[tensor].dtype.name} {shape_text(state.tensors[tensor].ne)}"
        cells = [bytes_text(one["bytes"]), one["tensor"], kind_of(state, tensor), shape]
        rows.append((f' data-tensor="{tensor}" class="gs-link"', cells))
    where = f"{top['name']}, step {top['peak_step']:,} ({top['peak_node']}), {bytes_text(top['peak_live_bytes'])}"
    return f"<p class=gs-muted>{html.escape(where)}</p>" + _table(["bytes", "tensor", "op", "shape"], rows, {0}, {1, 3})


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body class="gs-report">
<header><h1>{title}</h1>
<div class="gs-tools">
<input id="gs-search" list="gs-names" placeholder="search a tensor ( / )" aria-label="search a tensor">
<datalist id="gs-names"></datalist>
<label>colour by <select id="gs-color"></select></label>
<button id="gs-theme" type="button">light / dark</button></div></header>
<p class="gs-muted">{facts}</p>
{about}<ul class="gs-answers">{answers}</ul>
<div class="gs-pictures">
<div class="gs-panel"><div id="gs-dag"></div></div>
<section class="gs-panel gs-why-panel"><p id="gs-why-head"></p><ul id="gs-why"></ul></section>
<div class="gs-panel" id="gs-strip"></div>
</div>
<div id="gs-legend"></div>
<h2>Devices</h2>
{devices}
<div class="gs-tables">
<section><h2>Splits</h2>{splits}</section>
<section><h2>Alive at the peak</h2>{peaks}</section>
</div>
{more}
<p class="gs-muted">galloscope {version} · decisions of ggml 0.26 · hatched: copies made by the scheduler</p>
<script type="text/plain" id="gs-report-data">{data}</script>
{scripts}
</body>
</html>
"""
