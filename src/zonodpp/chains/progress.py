"""Progress of a run: a bar on a terminal, silence in a pipe, a callable for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from zonodpp.chains.slices import Chain, Plan
from zonodpp.samplers import Sampler

WIDTH = 28


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
        cls,
        sampler: Sampler,
        chains: list[Chain],
        plan: Plan,
        elapsed: float,
        seconds: float | None,
        before: tuple[int, int] = (0, 0),
    ) -> Progress:
        """Sum up all chains; ``before`` is what `work_done` said when this call began."""
        drawn = sum(chain.drawn for chain in chains)
        position, steps = work_done(chains, plan.thin)
        made, taken = position - before[0], steps - before[1]  # in the time elapsed
        total = None if plan.draws is None else plan.draws * len(chains)
        remaining = float("inf") if seconds is None else seconds - elapsed
        if total is not None and made:
            remaining = min(remaining, elapsed * ((total * plan.thin - position) / made))
        acceptance = None
        if "accepted" in sampler.counters and steps:
            place = sampler.counters.index("accepted")
            acceptance = sum(int(chain.state["counts"][place]) for chain in chains) / steps
        return cls(drawn, total, elapsed, max(0.0, remaining), taken / elapsed, acceptance)

    @property
    def share(self) -> float:
        """The part of the run that is done, from 0 to 1."""
        by_time = self.elapsed / max(self.elapsed + self.remaining, 1e-9)
        return max(by_time if self.remaining < float("inf") else 0.0, self._by_draws)

    @property
    def _by_draws(self) -> float:
        return self.drawn / self.total if self.total else 0.0

    def line(self) -> str:
        """One line for a terminal."""
        full = int(WIDTH * min(1.0, self.share))
        parts = [f"{self.drawn:,}" + (f"/{self.total:,} draws" if self.total else " draws")]
        parts.append(f"{self.steps_per_second:,.0f} steps/s")
        if self.acceptance is not None:
            parts.append(f"{self.acceptance:.0%} accepted")
        if self.remaining < float("inf"):
            parts.append(f"{self.remaining:.0f} s left")
        return f"[{'#' * full}{'.' * (WIDTH - full)}] " + ", ".join(parts)


def work_done(chains: list[Chain], thin: int) -> tuple[int, int]:
    """Return how far all chains have come, in steps, and how many steps they have counted.

    Both include what a checkpoint holds.
    """
    position = sum(chain.position(thin) for chain in chains)
    return position, sum(int(chain.state["counts"][0]) for chain in chains)


def is_terminal(stream: Any) -> bool:
    """Tell whether somebody looks at a stream; programs without a window have None for one."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError, OSError):  # no stream, one that is closed, or another kind
        return False


@contextmanager
def reporter(progress: Any) -> Iterator[Callable[[Progress], None]]:
    """Return the function that is told of progress, after at most ten calls a second."""
    if callable(progress):
        yield _throttled(progress, 0.1)
        return
    if progress is None:
        progress = is_terminal(sys.stderr)
    if not progress:
        yield lambda report: None
        return
    shown = False
    begun = time.perf_counter()

    def show(report: Progress) -> None:
        nonlocal shown
        if shown or time.perf_counter() - begun > 0.5:  # short runs need no bar
            shown = True
            _write("\r\x1b[K" + report.line())

    try:
        yield _throttled(show, 0.1)
    finally:
        if shown:
            _write("\r\x1b[K")


def _write(text: str) -> None:
    """Write to standard error, if there is one: a run does not end because nobody can look."""
    with suppress(AttributeError, ValueError, OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _throttled(function: Callable[[Progress], None], gap: float) -> Callable[[Progress], None]:
    last = float("-inf")

    def call(report: Progress) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= gap or report.drawn == report.total:
            last = now
            function(report)

    return call
