"""What the paper claims beside what came out here, and whether the two agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DOUBTFUL = 1e-4  # p-values below this count as a rejection
WORDS = {True: "reproduced", False: "not reproduced", None: "not judged"}


@dataclass(frozen=True)
class Verdict:
    """One claim of the paper, judged from data.

    Parameters
    ----------
    claim : str
        What is claimed, in a few words.
    paper : str
        What the paper says.
    here : str
        What this run found.
    reproduced : bool or None
        Whether it agrees with the paper; None where it could not, or should not, be judged.

    Examples
    --------
    >>> from paper.verdicts import Verdict
    >>> Verdict("acceptance", "about ten times larger", "9.1 times larger", True).word
    'reproduced'
    """

    claim: str
    paper: str
    here: str
    reproduced: bool | None

    @property
    def word(self) -> str:
        """The verdict in words."""
        return WORDS[self.reproduced]

    def __str__(self) -> str:
        return f"{self.word}: {self.claim}. The paper: {self.paper}. Here: {self.here}."


def tally(verdicts: Sequence[Verdict]) -> str:
    """Count verdicts of each kind, in words.

    Examples
    --------
    >>> from paper.verdicts import Verdict, tally
    >>> tally([Verdict("a", "1", "1", True), Verdict("b", "2", "3", False)])
    '1 reproduced, 1 not reproduced'
    """
    found = [verdict.word for verdict in verdicts]
    return ", ".join(f"{found.count(word)} {word}" for word in WORDS.values() if word in found)
