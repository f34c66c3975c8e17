"""The harness of the benchmarks, on made-up timings: nothing here is timed."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("networkx")


from oracles import HighsOracle

from benchmarks import (
    Job,
    bench_kernels,
    compare,
    fit_exponent,
    interleaved,
    left_out,
    measured,
    met,
    missing,
    peer,
    peers,
    report,
)
from benchmarks.kernels import Count
from benchmarks.run import drift_of, environment, main, merge, names, widened
from benchmarks.workloads import indicators, peak_memory, worth_of_steps


def row(ratio, low=None, high=None, **more):
    spread = {} if low is None else {"ratio_range": [low, high]}
    return {"what": "peer over ours", "ratio": ratio, **spread, **more}


def result(*rows, quick=False):
    place = {**environment(), "load": 0.1}
    return {
        "benchmark": "made-up",
        "date": "2020-01-01",
        "quick": quick,
        "seed": 1,
        "seconds": 2.0,
        "environment": place,
        "rows": list(rows),
    }


def test_jobs_take_turns_after_one_untimed_round():
    calls = []
    jobs = {"a": Job(lambda: calls.append("a"), 10), "b": Job(lambda: calls.append("b"))}
    seconds = interleaved(jobs, repeats=3)
    assert calls == ["a", "b"] * 4
    assert [len(times) for times in seconds.values()] == [3, 3]


def test_a_peer_in_a_process_of_its_own_times_itself():
    jobs = {"peer": Job(lambda: 6.0, 3, times_itself=True)}
    assert interleaved(jobs, repeats=2) == {"peer": [2.0, 2.0]}


def test_a_program_that_is_not_there_is_missing(tmp_path):
    assert peers.tree_process(("no-such-program",), 4, tmp_path / "edges") is None
    # A Python without the library, which ends at once.
    command = (sys.executable, "-c", "import no_such_library")
    assert peers.tree_process(command, 4, tmp_path / "edges") is None


def test_trees_of_a_process_are_counted(tmp_path):
    program = """
import sys
print("peer 1.0", flush=True)
for line in sys.stdin:
    print(0.5, int(sys.argv[1]) - int(line), flush=True)
"""
    process = peers.tree_process((sys.executable, "-c", program), 4, tmp_path / "edges")
    assert process.version == "peer 1.0"
    assert process.job(1).seconds() == 0.5
    with pytest.raises(AssertionError, match="no spanning tree"):
        process.job(2).seconds()
    process.close()


def test_peak_memory_is_that_of_the_work():
    peak = peak_memory("x = np.ones(4_000_000)", "y = np.ones(2_000_000)")
    assert peak is None or 15e6 < peak < 25e6


def test_highs_with_a_kept_model_agrees_with_the_reference():
    pytest.importorskip("highspy")
    rng = np.random.default_rng(0)
    A, c = rng.normal(size=(3, 10)), rng.normal(size=10)
    ours, reference = peers.HighsOracle(A, c), HighsOracle(A, c)
    for _ in range(5):
        x, d = A @ rng.random(10), rng.normal(size=3)
        assert ours.solve(x) == pytest.approx(reference.solve(x), abs=1e-7)
        assert ours.chord(x, d) == pytest.approx(reference.chord(x, d), abs=1e-7)
    assert ours.solve(np.full(3, 1e3)) is None
    assert ours.solve(x) is not None  # the infeasible program leaves no trace


def test_ratios_are_taken_within_rounds():
    # A slow second round slows both; the ratio of medians over all rounds would not see that.
    seconds = {"theirs": [10.0, 100.0, 12.0], "ours": [1.0, 10.0, 1.0]}
    found = compare(seconds, "theirs", "ours")
    assert found["ratio"] == 10.0
    assert found["ratio_range"] == [10.0, 12.0]
    assert found["microseconds"] == {"theirs": 12e6, "ours": 1e6}
    assert found["repeats"] == 3


def test_measured_gives_median_and_range():
    assert measured([3.0, 1.0, 2.0], "s") == {
        "ratio": 2.0,
        "ratio_range": [1.0, 3.0],
        "repeats": 3,
        "unit": "s",
    }


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (row(10.0, floor=5.0), True),
        (row(4.9, floor=5.0), False),
        (row(4.9, at_most=5.0), True),
        (row(5.1, at_most=5.0), False),
        (row(5.0), None),
        ({**missing("peer over ours", "dppy"), "floor": 5.0}, None),
    ],
)
def test_promises(found, verdict):
    assert met(found) is verdict


def test_a_missing_peer_is_named():
    assert peer("no_such_package") is None
    assert "dppy is missing" in report.line(missing("DPPy over ours", "dppy"))
    assert "a reason" in report.line(left_out("DPPy over ours", "a reason"))
    page = report.summary({"made-up": result(missing("DPPy over ours", "dppy"))})
    assert "- made-up: DPPy over ours: dppy is missing" in page


def test_exponent_of_a_power_law():
    sizes = np.array([10.0, 20.0, 40.0, 80.0])
    fit = fit_exponent(sizes, 3.0 * sizes**1.5)
    assert fit.exponent == pytest.approx(1.5)
    assert fit.stderr == pytest.approx(0.0, abs=1e-12)


def test_exponent_has_the_error_of_a_regression():
    rng = np.random.default_rng(0)
    sizes = np.logspace(1, 3, 9)
    fits = [fit_exponent(sizes, sizes**2 * rng.lognormal(sigma=0.1, size=9)) for _ in range(400)]
    exponents = np.array([fit.exponent for fit in fits])
    assert exponents.mean() == pytest.approx(2.0, abs=0.01)
    assert exponents.std() == pytest.approx(np.mean([fit.stderr for fit in fits]), rel=0.15)


def test_exponent_wants_three_sizes():
    with pytest.raises(ValueError, match="3 sizes or more, got 2"):
        fit_exponent([1, 2], [1, 2])


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (row(10, 9, 11), row(11.5, 10.5, 13), True),
        (row(10, 9, 11), row(12, 11, 13), True),
        (row(10, 9, 11), row(13, 12, 14), False),
        (row(13, 12, 14), row(10, 9, 11), False),
        (row(-0.1, -0.2, -0.05), row(0.1, 0.05, 0.2), False),
        (row(10, 9, 11), row(10), None),
        (row(10, 9, 11), missing("peer over ours", "dppy"), None),
    ],
)
def test_agreement_of_two_runs(old, new, verdict):
    assert report.agree(old, new) is verdict


def test_report_of_two_runs():
    old = {"a": result(row(10, 9, 11)), "gone": result()}
    new = {"a": result(row(20, 19, 21), quick=True)}
    lines, differing = report.agreement(old, new)
    assert differing == 1
    text = "\n".join(lines)
    assert "gone: only in the old run" in text
    assert "one run was quick" in text
    assert "DIFFER" in text
    assert lines[-1] == "0 agree, 1 differ, 0 state no spread"


def test_compare_on_the_command_line(tmp_path, capsys):
    for name, ratio in (("old", 10.0), ("new", 10.5)):
        folder = tmp_path / name
        folder.mkdir()
        text = json.dumps(result(row(ratio, ratio - 1, ratio + 1)))
        (folder / "made-up.json").write_text(text)
    assert main(["--compare", str(tmp_path / "old"), "--out", str(tmp_path / "new")]) == 0
    assert "1 agree, 0 differ" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--compare", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit):
        main(["no-such-benchmark"])
    assert "no benchmark no-such-benchmark; there are" in capsys.readouterr().err


def test_visits_become_one_row():
    first = row(10.0, 9.0, 11.0, repeats=3, workload="K10", microseconds={"a": 1.0, "b": 3.0})
    second = row(12.0, 11.5, 13.0, repeats=3, workload="K10", microseconds={"a": 2.0, "b": 3.0})
    [found] = merge([[first], [second]])
    assert found["ratio"] == 11.0
    assert found["ratio_range"] == [9.0, 13.0]
    assert found["visits"] == [[9.0, 10.0, 11.0], [11.5, 12.0, 13.0]]
    assert found["repeats"] == 6
    assert found["microseconds"] == {"a": 1.5, "b": 3.0}
    assert found["workload"] == "K10"


def test_rows_that_cannot_be_merged_stay_as_they_are():
    only_once = {**row(1.0), "what": "seeds alone"}
    absent = missing("theirs", "dppy")
    worst = [{**row(share), "what": "worst", "unit": f"({k})"} for share, k in ((0.4, 1), (0.5, 2))]
    found = merge([[only_once, absent, worst[0]], [absent, worst[1]]])
    assert found == [only_once, absent, worst[0]]


def test_drift_is_taken_into_the_spread():
    # Rows whose visits miss each other by 4%, some that meet, and one that was disturbed.
    apart, meeting = [[0.9, 0.95, 1.0], [1.0404, 1.1, 1.2]], [[0.9, 1.0, 1.1], [1.0, 1.1, 1.2]]
    rows = [row(1.0, 0.9, 1.2, repeats=4, visits=k) for k in 120 * [apart] + 79 * [meeting]]
    rows.append(row(1.0, 0.9, 2.0, repeats=4, visits=[[0.9, 0.95, 1.0], [1.5, 1.8, 2.0]]))
    by = drift_of(rows)
    assert by == pytest.approx(0.02)
    assert drift_of(rows[120:199]) == 0.0
    assert widened(row(10.0, 9.0, 11.0, repeats=4), by)["ratio_range"] == pytest.approx(
        [9.0 / 1.02, 11.0 * 1.02]
    )
    exponent = row(1.0, 0.9, 1.1, stderr=0.05)
    assert widened(exponent, by) == exponent
    assert drift_of([row(1.0), row(1.0, 0.9, 1.1, repeats=2)]) == 0.0


def test_runs_that_drift_agree_within_what_they_state():
    rng = np.random.default_rng(0)

    def one_run(truth, noise=0.01, drift=0.05):
        seen = []
        for _ in range(2):
            shifts = rng.normal(scale=drift, size=len(truth))
            values = (
                np.exp(shifts[:, None] + rng.normal(scale=noise, size=(len(truth), 3)))
                * (truth[:, None])
            )
            seen.append([{"what": str(k), **measured(list(v))} for k, v in enumerate(values)])
        rows = merge(seen)
        return [widened(found, drift_of(rows)) for found in rows]

    truth = np.logspace(0, 4, 250)
    old, new, other = one_run(truth), one_run(truth), one_run(1.6 * truth)
    assert sum(not report.agree(a, b) for a, b in zip(old, new, strict=True)) == 0
    assert sum(not report.agree(a, b) for a, b in zip(old, other, strict=True)) > 200


def test_every_section_is_found():
    assert {"exact", "exchange", "trees", "zonotope", "chains", "best"} <= set(names())


def test_summary_has_promises_first_and_counts_them():
    rows = [
        row(20.0, 18.0, 22.0, floor=10.0, microseconds={"theirs": 20.0, "ours": 1.0}),
        row(5.0, floor=10.0),
        row(3.0, 2.0, 4.0),
        row(0.5, 0.4, 0.6, unit="s"),
    ]
    page = report.summary({"made-up": result(*rows)}, {"steps": "Time of a step"})
    assert "## Promises: 1 of 2 met" in page
    assert "| made-up | peer over ours | 20 | 18 to 22 | >= 10 | met | theirs 20 us" in page
    assert "NOT MET" in page
    assert page.index("## Promises") < page.index("## Other ratios")
    assert page.index("## Other ratios") < page.index("## Absolute figures")
    assert "0.50 s" in page
    assert "![Time of a step](steps.png)" in page


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.50 s"), (2e-3, "2.00 ms"), (5e-5, "50 us"), (3e-8, "30 ns")]
)
def test_durations(seconds, text):
    assert report.duration(seconds) == text


def test_worth_of_independent_draws_is_one():
    rng = np.random.default_rng(0)
    chances = np.array([0.1, 0.3])
    values = rng.random((4, 20_000, 2)) < chances
    worth = worth_of_steps(values, chances)
    assert np.median(worth[0]) == pytest.approx(1.0, rel=0.2)
    # If each draw stands there four times, a step is worth a quarter of an independent draw, and
    # so it is if an average stands for four steps.
    repeated = np.repeat(values, 4, axis=1)
    assert np.median(worth_of_steps(repeated, chances)[0]) == pytest.approx(0.25, rel=0.2)
    assert np.median(worth_of_steps(values, chances, thin=4)[0]) == pytest.approx(0.25, rel=0.2)


def test_worth_of_rare_sets_adds_up():
    rng = np.random.default_rng(0)
    chances = np.full(40, 0.002)
    worth = worth_of_steps(rng.random((4, 10_000, 40)) < chances, chances)
    assert worth.shape[1] == 1
    assert worth[0, 0] == pytest.approx(1.0, rel=0.2)
    with pytest.raises(ValueError, match="do not make"):
        worth_of_steps(np.zeros((1, 3, 1)), [0.1])


def test_indicators_of_triplets():
    subsets = np.array([[[0, 1, 2, 5], [0, 2, 3, 5]]])
    found = indicators(subsets, [[0, 1, 2], [0, 2, 5]])
    assert found.tolist() == [[[True, True], [False, True]]]


def test_limits_name_what_binds():
    limits = {"flops": 10.0, "loads L1": 100.0, "stores L1": 50.0, "divisions": 1.0}
    limits |= {"loads L2": 20.0, "stores L2": 20.0}
    small = Count(flops=100.0, loads=800.0, stores=100.0, data=800.0)
    assert bench_kernels.least_time(small, limits) == (10.0, "flops")
    assert bench_kernels.least_time(small._replace(data=1e6), limits) == (40.0, "loads L2")
    assert bench_kernels.least_time(small._replace(divisions=30.0), limits) == (30.0, "divisions")
    assert small + small == Count(200.0, 1600.0, 200.0, 0.0, 1600.0)


def test_pictures_are_drawn_from_rows(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks import pictures

    rows = [
        row(
            *(9.0, 8, 10),
            picture="steps",
            workload="K10",
            microseconds={"dppy": 90.0, "paper": 10.0},
        ),
        row(50.0, 40, 60, picture="effective", workload="K10", method="exact"),
        row(2.0, 1, 3, picture="draws", axis="n", n=100, r=5, method="zonodpp", unit="us"),
        row(
            *(9.0, 8, 10),
            picture="draws",
            axis="r",
            n=100,
            r=5,
            method="GS",
            microseconds={"GS": 18.0},
        ),
        *(
            row(
                *(1.0, 0.9, 1.1),
                picture="growth",
                axis=axis,
                method="exact",
                fixed="the other is 5",
                sizes=[5, 10],
                step_microseconds=[1.0, 2.0],
                stderr=0.05,
            )
            for axis in ("n", "r")
        ),
        row(2.0, 1.5, 2.5, picture="kernels", kernel="pivot", size="9 x 45"),
        row(1.0),
    ]
    drawn = pictures.draw_all({"made-up": result(*rows)}, tmp_path)
    assert list(drawn) == ["steps", "effective", "draws", "growth", "kernels"]
    assert all((tmp_path / f"{name}.png").stat().st_size > 5_000 for name in drawn)
