"""The report as one HTML page: figures inside, no script, nothing fetched."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.verdicts import Verdict, tally

if TYPE_CHECKING:
    from paper.report import Picture, Report, Section

TITLE = "Zonotope hit-and-run, reproduced"
PAPER = (
    "Gautier, Bardenet and Valko, <cite>Zonotope Hit-and-run for Efficient Sampling from "
    "Projection DPPs</cite>, ICML 2017"
)
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"  # fetch nothing
MARKS = {True: ("yes", "✓"), False: ("no", "✗"), None: ("open", "?")}  # class and sign
QUICK = (
    "<p class='note'>This is a quick run: its sizes are smaller than the paper's, so verdicts that "
    "depend on chance are rougher than those of a full run.</p>"
)
WIDE = 1.7  # ratio of width to height from which a figure gets a row of its own


def render(report: Report) -> str:
    """Return the page of a report, as text."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    body = [
        "<header>",
        f"<h1>{TITLE}</h1>",
        f"<p class='lead'>The experiments of {PAPER}, run again with <b>zonodpp</b>. Each table "
        "sets what the paper says beside what came out here; the verdict is computed from the "
        "stored data.</p>",
        QUICK if report.quick else "",
        _overview(report),
        "</header>",
        "<main>",
        *(_section(section) for section in report.sections),
        _about(report),
        "</main>",
    ]
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<meta name='color-scheme' content='light dark'>\n"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        "<link rel='icon' href='data:,'>\n"
        f"<title>{TITLE}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _overview(report: Report) -> str:
    """Contents and counts of verdicts in one."""
    rows = []
    for section in report.sections:
        dots = "".join(
            f"<span class='dot {MARKS[verdict.reproduced][0]}' title='{escape(verdict.claim)}: "
            f"{verdict.word}'>{MARKS[verdict.reproduced][1]}</span>"
            for verdict in section.verdicts
        )
        rows.append(
            f"<li><a href='#{section.name}'>{escape(section.title)}</a>"
            f"<span class='dots'>{dots}</span>"
            f"<span class='count'>{tally(section.verdicts)}</span></li>"
        )
    about = "<li><a href='#about'>About this run</a></li>"
    return f"<nav aria-label='Contents'><ul>{''.join(rows)}{about}</ul></nav>"


def _section(section: Section) -> str:
    wide: list[str] = []
    narrow: list[str] = []
    for picture in section.pictures:
        (wide if _ratio(picture) > WIDE else narrow).append(_figure(picture))
    parts = [
        f"<section id='{section.name}'>",
        f"<h2>{escape(section.title)}</h2>",
        f"<p>{escape(section.introduction)}</p>",
        _table(section.verdicts),
        f"<div class='row'>{''.join(narrow)}</div>" if narrow else "",
        *wide,
        _texts(section.texts),
        _settings(section),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _table(verdicts: tuple[Verdict, ...]) -> str:
    rows = []
    for verdict in verdicts:
        kind, sign = MARKS[verdict.reproduced]
        rows.append(
            f"<tr class='{kind}'><th scope='row'>{_sentence(verdict.claim)}</th>"
            f"<td data-label='The paper says'>{escape(verdict.paper)}</td>"
            f"<td data-label='Here'>{escape(verdict.here).replace('; ', ';<br>')}</td>"
            f"<td class='verdict'><span><b aria-hidden='true'>{sign}</b> {verdict.word}</span></td>"
            "</tr>"
        )
    return (
        "<table class='verdicts'><thead><tr><th scope='col'>Claim</th>"
        "<th scope='col'>The paper says</th><th scope='col'>Here</th>"
        f"<th scope='col'>Verdict</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _sentence(text: str) -> str:
    return escape(text[:1].upper() + text[1:])


def _figure(picture: Picture) -> str:
    code = base64.b64encode(picture.svg.encode()).decode()
    return (
        f"<figure><img alt='{escape(picture.caption)}' src='data:image/svg+xml;base64,{code}'>"
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _ratio(picture: Picture) -> float:
    """Width over height, from the figure's own viewBox."""
    start = picture.svg.index('viewBox="') + len('viewBox="')
    _, _, width, height = picture.svg[start : picture.svg.index('"', start)].split()
    return float(width) / float(height)


def _texts(texts: Mapping[str, list[str]]) -> str:
    if not texts:
        return ""
    columns = (
        f"<article><h3>{escape(name)}</h3><ol>"
        + "".join(f"<li>{escape(line)}</li>" for line in lines)
        + "</ol></article>"
        for name, lines in texts.items()
    )
    return f"<div class='row texts'>{''.join(columns)}</div>"


def _settings(section: Section) -> str:
    rows = {**section.data.get("settings", {}), "seconds": f"{section.seconds:.1f}"}
    stems = [picture.stem for picture in section.pictures]
    rows["files"] = ", ".join(["data.json", "data.npz", *(f"{s}.png, {s}.svg" for s in stems)])
    return f"<details><summary>Settings and files</summary>{_facts(rows)}</details>"


def _about(report: Report) -> str:
    return (
        "<section id='about'><h2>About this run</h2>"
        "<p>Times are wall-clock and depend on the machine; everything else follows from the "
        f"seed.</p>{_facts(report.facts)}</section>"
    )


def _facts(rows: Mapping[str, Any]) -> str:
    cells = "".join(
        f"<dt>{escape(str(name))}</dt><dd>{escape(_in_words(value))}</dd>"
        for name, value in rows.items()
    )
    return f"<dl>{cells}</dl>"


def _in_words(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, list | tuple | np.ndarray):
        inner = ", ".join(_in_words(entry) for entry in value)
        return f"({inner})"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_in_words(entry)}" for key, entry in value.items())
    return str(value)
