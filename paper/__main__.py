"""``python -m paper``: run the experiments of the paper, and say which of its claims hold."""

from __future__ import annotations

import dataclasses
import json

import click

from paper.report import NAMES, SEED, reproduce


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Small sizes: one to two minutes.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="report",
    show_default=True,
    help="The folder for figures, data and the report.",
)
@click.option(
    "--article", type=click.Path(exists=True, dir_okay=False), help="A text for the summaries."
)
@click.option("--seed", type=int, default=SEED, show_default=True, help="Same seed, same draws.")
@click.option("--json", "as_json", is_flag=True, help="Write verdicts as JSON.")
def main(
    names: tuple[str, ...], quick: bool, out: str, article: str | None, seed: int, as_json: bool
) -> None:
    """Run the experiments of the paper again and say which of its claims hold.

    NAME is geometry, spanning-trees, summaries or landmarks; all of them by default.
    """
    report = reproduce(names or None, quick=quick, out=out, rng=seed, article=article)
    if not as_json:
        click.echo(str(report))
        return
    verdicts = [
        {"experiment": section.name, **dataclasses.asdict(verdict)}
        for section in report.sections
        for verdict in section.verdicts
    ]
    facts = {"page": str(report.path), "facts": report.facts, "verdicts": verdicts}
    click.echo(json.dumps(facts, ensure_ascii=False))


if __name__ == "__main__":
    main(prog_name="python -m paper")
