"""Progress of a run: a bar for a person who is watching, a callable for programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from zonodpp._arguments import as_flag
from zonodpp._imports import on_use
from zonodpp.io.stderr import Stderr, is_watched
from zonodpp.runs.groups import Run

INTERVAL = 0.1  # seconds between two reports
_SHORT = 0.5  # seconds; a shorter run shows no bar

# What people pass as ``progress``.
ProgressLike: TypeAlias = "bool | Callable[[Progress], None] | None"


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes
    ----------
    drawn, total : int
        Draws made so far and asked for, all chains together; total is None when time decides.
        Those of a checkpoint count.
    elapsed, remaining : float
        Seconds since the start of this call and, estimated, to the end.
    steps_per_second : float
        Steps of all chains together, in this call.
    acceptance : float or None
        Share of accepted moves, for methods that have one.
    """

    drawn: int
    total: int | None
    elapsed: float
    remaining: float
    steps_per_second: float
    acceptance: float | None

    @classmethod
    def of(
        cls, run: Run, elapsed: float, limit: float, before: tuple[int, int] = (0, 0)
    ) -> Progress:
        """Sum up all chains; ``before`` is what `work_done` returned when this call began.

        The call has taken ``elapsed`` seconds, and takes ``limit`` seconds at most.
        """
        position, steps = work_done(run)
        made, taken = position - before[0], steps - before[1]  # in the time elapsed
        total = None if run.draws is None else run.draws * run.chains
        remaining = limit - elapsed
        if total is not None and made:
            remaining = min(remaining, elapsed * ((total * run.thin - position) / made))
        counted = dict(zip(run.sampler.counters, run.counts.sum(axis=0).tolist(), strict=True))
        acceptance = counted["accepted"] / steps if steps and "accepted" in counted else None
        drawn = sum(group.drawn * group.chains for group in run.groups)
        return cls(drawn, total, elapsed, max(0.0, remaining), taken / elapsed, acceptance)

    @property
    def share(self) -> float:
        """The part of the run that is done, from 0 to 1: by time or by draws."""
        by_time = self.elapsed / max(self.elapsed + self.remaining, 1e-9)
        return min(1.0, max(by_time, self.drawn / self.total if self.total else 0.0))

    def line(self) -> str:
        """Describe the progress in one line."""
        parts = [f"{self.drawn:,}" + (f"/{self.total:,} draws" if self.total else " draws")]
        parts.append(f"{self.steps_per_second:,.0f} steps/s")
        if self.acceptance is not None:
            parts.append(f"{self.acceptance:.0%} accepted")
        if self.remaining < float("inf"):
            parts.append(f"{self.remaining:.0f} s left")
        return f"{self.share:4.0%} {', '.join(parts)}"


def work_done(run: Run) -> tuple[int, int]:
    """Return how far all chains have come, in steps, and how many steps they have counted.

    Both include what a checkpoint holds.
    """
    position = sum(group.position(run.thin) * group.chains for group in run.groups)
    return position, int(run.counts[:, 0].sum())


class Reports:
    """The reports of one call: what was done before it, and when the last one was made."""

    def __init__(self, run: Run, limit: float, report: Callable[[Progress], None] | None) -> None:
        self.run, self.limit, self.report = run, limit, report
        self.begun, self.last = time.perf_counter(), float("-inf")
        self.before = work_done(run) if report else (0, 0)  # of a checkpoint, if there is one

    def show(self) -> None:
        """Make a report if it is due."""
        now = time.perf_counter()
        if self.report is not None and (now - self.last >= INTERVAL or self.run.done):
            self.last = now
            self.report(Progress.of(self.run, now - self.begun, self.limit, self.before))


def reporter(progress: ProgressLike) -> AbstractContextManager[Callable[[Progress], None] | None]:
    """Return the function to call with each `Progress` that ``progress`` asks for, or None."""
    if callable(progress):
        return nullcontext(progress)
    shown = is_watched() if progress is None else as_flag(progress, "progress")
    return _bar() if shown else nullcontext()


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    """Show a bar in a terminal or in a notebook."""
    # tqdm.auto imports asyncio, which costs a tenth of the time to the first draw; so it waits
    # until a bar is wanted.
    bar = on_use("tqdm.auto").tqdm(
        total=1.0,
        bar_format="|{bar}|{desc}",
        delay=_SHORT,
        miniters=0,
        leave=False,
        dynamic_ncols=True,
        file=Stderr(),  # where a write fails, tqdm would keep a lock that other bars wait for
    )

    def show(report: Progress) -> None:
        bar.set_description_str(report.line(), refresh=False)
        bar.update(report.share - bar.n)

    try:
        yield show
    finally:
        bar.n = bar.total  # a notebook marks bars that do not reach their end as failed
        bar.close()
