"""A session as an HTML file of its own: the picture, and every ubatch that was not re-used with its reasons."""

from __future__ import annotations

import html

from ...core.decode.life import Life
from ...core.decode.log import LifeLog
from ...core.decode.words import step_sentences, ubatch_sentences
from ...core.errors import printable
from ...core.explain.sentence import Sentence, count
from ..figures.session_words import step_text
from .session_svg import session_svg

MOST_PARTS = 400
"""More would make a page that nobody reads; the picture has them all."""
_MARKS = {"strong": "strong", "name": "code"}


def session_html(log: LifeLog, life: Life) -> str:
    """The whole page."""
    title = html.escape(printable(log.script.name or log.script.model))
    return _PAGE.format(title=title, style=_STYLE, picture=session_svg(log, life), told="\n".join(_told(log, life)))


def _told(log: LifeLog, life: Life) -> list[str]:
    """A section for each call with something to say; re-used ubatches go without saying."""
    told: list[str] = []
    shown = left_out = 0
    for number, step in enumerate(life.steps):
        around = [one for one in step_sentences(life, number) if one.topic != "synchronized"]
        rebuilt = [ubatch for ubatch in range(*step.ubatches) if not life.ubatches[ubatch].reused]
        if not around and not rebuilt:
            continue
        if shown >= MOST_PARTS:
            left_out += 1
            continue
        call = printable(step_text(log.script.steps[step.step]))
        told.append(f"<h2>Step {step.step:,}: {html.escape(call)}</h2>{_paragraph(around)}")
        for ubatch in rebuilt:
            told.append(f"<h3>Ubatch {ubatch:,}</h3>{_paragraph(ubatch_sentences(log, life, ubatch))}")
        shown += 1 + len(rebuilt)
    if left_out:
        told.append(f"<p>and {count(left_out, 'more call')} with something to say; the picture has them all.</p>")
    return told


def _paragraph(sentences: list[Sentence]) -> str:
    if not sentences:
        return ""
    return f"<ul>{''.join(f'<li>{_marked(one)}</li>' for one in sentences)}</ul>"


def _marked(sentence: Sentence) -> str:
    return "".join(
        f"<{_MARKS[style]}>{html.escape(printable(words))}</{_MARKS[style]}>"
        if style
        else html.escape(printable(words))
        for words, style in sentence.parts
    )


_STYLE = """
:root { color-scheme: light dark; --bg: #ffffff; --text: #0f172a; --muted: #64748b; }
@media (prefers-color-scheme: dark) { :root { --bg: #0b1220; --text: #e2e8f0; --muted: #94a3b8; } }
body { margin: 0 auto; max-width: 1200px; background: var(--bg); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
svg { display: block; max-width: 100%; height: auto; }
main { padding: 0 40px 40px; }
h2 { font-size: 15px; margin: 24px 0 4px; } h3 { font-size: 13px; margin: 12px 0 2px; color: var(--muted); }
ul { margin: 0; padding-left: 18px; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px; }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{picture}<main>
{told}
</main>
</body>
</html>
"""
