"""`reproduce`: run experiments, and write their data, figures, verdicts and one page."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paper.machine import facts
from paper.page import render
from paper.records import write_record
from paper.verdicts import Verdict, tally
from zonodpp.runs.progress import Progress

NAMES = ("geometry", "spanning-trees", "summaries", "landmarks")
SEED = 2017


@dataclass(frozen=True)
class Picture:
    """A figure on disk (``stem.png``, ``stem.svg`` in the section's folder) and its caption."""

    stem: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    """One experiment of a report.

    Attributes
    ----------
    name, title, introduction : str
    data : dict
        What the run returned; also in ``data.json`` and ``data.npz``.
    verdicts : tuple of Verdict
    pictures : tuple of Picture
    texts : dict of str to list of str
        Texts to show side by side, for experiments that make some.
    seconds : float
        Wall-clock time, figures included.
    """

    name: str
    title: str
    introduction: str
    data: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    pictures: tuple[Picture, ...]
    texts: dict[str, list[str]]
    seconds: float


@dataclass(frozen=True, repr=False)
class Report:
    """What `reproduce` made.

    Attributes
    ----------
    path : Path
        The page, ``index.html``.
    sections : tuple of Section
    quick : bool
        Whether sizes are smaller than the paper's.
    facts : dict of str to str
        Seed, sizes, versions, machine, time and memory.
    """

    path: Path
    sections: tuple[Section, ...]
    quick: bool
    facts: dict[str, str]

    @property
    def verdicts(self) -> list[Verdict]:
        """All verdicts, in the order of the page."""
        return [verdict for section in self.sections for verdict in section.verdicts]

    def __repr__(self) -> str:
        names = ", ".join(section.name for section in self.sections)
        return f"Report({str(self.path)!r}: {names}; {tally(self.verdicts)})"

    def __str__(self) -> str:
        lines = [f"{key}: {value}" for key, value in self.facts.items()]
        for section in self.sections:
            lines += ["", f"{section.title} ({section.seconds:.0f} s)"]
            lines += [f"  {verdict}" for verdict in section.verdicts]
        return "\n".join([*lines, "", f"{tally(self.verdicts)}: {self.path}"])


def reproduce(
    names: Iterable[str] | str | None = None,
    *,
    quick: bool = False,
    out: str | os.PathLike[str] = "report",
    rng: Any = SEED,
    article: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[str], Any] | None = None,
) -> Report:
    """Run the paper's experiments again and write a report.

    Parameters
    ----------
    names : str or list of str, optional
        Some of `NAMES`; all by default.
    quick : bool, default False
        Smaller sizes: two minutes instead of the paper's sizes.
    out : path, default "report"
        The folder to write: ``index.html``, and for each experiment a folder with ``data.json``,
        ``data.npz`` and its figures.
    rng : seed or Generator, default 2017
        An experiment draws the same numbers whichever others run beside it.
    article : path, optional
        A text file for the experiment on summaries, in place of the bundled article.
    progress : bool or callable, optional
        Say on stderr what is done; None says it on a terminal only. A callable gets the lines.

    Returns
    -------
    Report

    Examples
    --------
    >>> import tempfile
    >>> from paper import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = reproduce("geometry", quick=True, out=folder)
    >>> report.path.name, len(report.verdicts)
    ('index.html', 4)
    """
    chosen = _as_names(names)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"out must be a folder to write the report to; {folder} is a file")
    if article is not None and not Path(article).is_file():
        raise FileNotFoundError(f"article must be a text file; there is none at {article}")
    folder.mkdir(parents=True, exist_ok=True)
    say = _teller(progress)
    generators = dict(zip(NAMES, np.random.default_rng(rng).spawn(len(NAMES)), strict=True))
    begun = time.perf_counter()
    sections = []
    for name in chosen:
        settings = {"article": article} if name == "summaries" and article is not None else {}
        say(f"{name} ...")
        section = _make(name, folder / name, quick, generators[name], say, settings)
        say(f"{name}: {section.seconds:.0f} s; {tally(section.verdicts)}")
        sections.append(section)
    known = facts(rng, quick, time.perf_counter() - begun)
    report = Report(folder / "index.html", tuple(sections), quick, known)
    report.path.write_text(render(report), encoding="utf-8")
    say(f"written: {report.path}")
    return report


def _as_names(names: Iterable[str] | str | None) -> list[str]:
    """Check the names of experiments; return them in the order of the report."""
    if names is None:
        return list(NAMES)
    asked = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in asked if name not in NAMES]
    if unknown or not asked:
        got = ", ".join(map(repr, unknown)) or "none"
        raise ValueError(f"names must be some of {', '.join(NAMES)}; got {got}")
    return [name for name in NAMES if name in asked]


def _make(
    name: str,
    folder: Path,
    quick: bool,
    rng: np.random.Generator,
    say: Callable[[Any], None],
    settings: dict[str, Any],
) -> Section:
    """Run one experiment and write its files."""
    module: Any = importlib.import_module(f"paper.{name.replace('-', '_')}")
    begun = time.perf_counter()
    data = module.run(quick=quick, rng=rng, progress=say, **settings)
    folder.mkdir(exist_ok=True)
    write_record(folder, data)
    pictures = [
        _save(folder, stem, figure, caption)
        for stem, (figure, caption) in module.figures(data).items()
    ]
    return Section(
        name,
        module.TITLE,
        module.INTRODUCTION,
        data,
        tuple(module.verdicts(data)),
        tuple(pictures),
        module.texts(data) if hasattr(module, "texts") else {},
        time.perf_counter() - begun,
    )


def _save(folder: Path, stem: str, figure: Any, caption: str) -> Picture:
    """Write a figure as PNG and SVG, the same bytes for the same figure."""
    import matplotlib

    figure.savefig(folder / f"{stem}.png", dpi=160, facecolor="white")
    with matplotlib.rc_context({"svg.hashsalt": stem}):
        figure.savefig(folder / f"{stem}.svg", facecolor="white", metadata={"Date": None})
    return Picture(stem, caption, (folder / f"{stem}.svg").read_text(encoding="utf-8"))


def _teller(progress: bool | Callable[[str], Any] | None) -> Callable[[Any], None]:
    """Return the function that reports progress, in words or as the `Progress` of one run."""
    if callable(progress):
        tell = progress
        return lambda news: tell(news.line() if isinstance(news, Progress) else news)
    terminal = sys.stderr.isatty()
    if not (terminal if progress is None else progress):
        return lambda news: None

    def show(news: Any) -> None:
        if not isinstance(news, Progress):
            sys.stderr.write(f"\x1b[K{news}\n" if terminal else f"{news}\n")
        elif terminal:  # a bar that the next line overwrites
            sys.stderr.write(f"\x1b[K{news.line()}\r")
        sys.stderr.flush()

    return show
