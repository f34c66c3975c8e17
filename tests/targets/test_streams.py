"""Draws from rows that are read in batches follow the law, whatever the batches and the pool."""

import dataclasses
import json
import os
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import one_chain
import pytest
from cases import matrices
from law import assert_law, assert_not_law
from sklearn.base import clone

from zonodpp import Exact, ProjectionDPP, prepare, sample
from zonodpp._arguments import spawn
from zonodpp.apps import LandmarkSelector
from zonodpp.apps.landmarks.streams import streamed_target
from zonodpp.exact import stream as streamed
from zonodpp.runs import sample as sampling
from zonodpp.targets import StreamedDPP
from zonodpp.targets.batches import Batch, array_rows, source_of
from zonodpp.targets.passes import View

CASES = matrices()
DRAWS = 20_000


def rows_of(name):
    A, weights = CASES[name]
    A = A.toarray() if hasattr(A, "toarray") else A
    return np.ascontiguousarray(A.T), weights


def batches_of(X, weights, size):
    def batches():
        for start in range(0, len(X), size):
            rows = X[start : start + size]
            yield rows if weights is None else (rows, weights[start : start + size])

    return batches


def pair(name, size):
    """The target in memory, by which the law is enumerated, and the streamed one."""
    X, weights = rows_of(name)
    size = len(X) if size == "n" else size
    return (
        ProjectionDPP.from_features(X, weights=weights),
        ProjectionDPP.from_features(batches_of(X, weights, size)),
    )


@pytest.mark.parametrize("size", [1, 2, 3, "n"])
@pytest.mark.parametrize("name", CASES)
def test_draws_follow_the_law(name, size):
    target, stream = pair(name, size)
    samples = sample(stream, DRAWS, rng=17)
    assert samples.method == "exact"
    assert_law(samples.subsets, target)


@pytest.mark.parametrize("name", ["gaussian", "weighted", "all but one"])
def test_a_pool_that_runs_dry_in_the_middle_of_a_draw_keeps_the_law(name):
    target, stream = pair(name, 3)
    samples = sample(stream, 800, method=Exact(pool=2), rng=5)
    assert (samples.stats["passes"] > 800).all()
    assert_law(samples.subsets, target)


def test_how_long_a_draw_takes_says_nothing_about_it():
    """A draw that a pool leaves unfinished may be thrown away: what is left keeps the law.

    With m items to go, item i is proposed with probability |q_i|^2 / r and accepted with
    probability |P q_i|^2 / |q_i|^2, where P projects onto the m dimensions that the picks leave. So
    a proposal is accepted with probability tr(P) / r = m / r, whatever the picks are: the number of
    proposals that a draw takes is independent of the set that is drawn. The length of a pool is
    Poisson distributed and independent of the proposals in it. Hence to drop the draws that do not
    finish within their pool selects by a number that says nothing about the sets. All paths of up
    to 12 proposals are added up here.
    """
    X, _ = rows_of("gaussian")
    target = ProjectionDPP.from_features(X)
    Q = np.linalg.qr(X)[0]
    n, r = Q.shape
    unfinished = {(): 1.0}  # picks in ascending order, and their probability
    for _ in range(12):
        after, finished = {}, {}
        for picks, chance in unfinished.items():
            taken = np.linalg.qr(Q[list(picks)].T)[0] if picks else np.zeros((r, 0))
            outside = ((Q - Q @ taken @ taken.T) ** 2).sum(axis=1)
            after[picks] = after.get(picks, 0.0) + chance * (1 - outside.sum() / r)
            for item in set(range(n)) - set(picks):
                new = tuple(sorted((*picks, item)))
                found = finished if len(new) == r else after
                found[new] = found.get(new, 0.0) + chance * outside[item] / r
        if finished:  # the sets that are complete after exactly so many proposals
            sets, shares = np.array(list(finished)), np.array(list(finished.values()))
            np.testing.assert_allclose(
                shares / shares.sum(), np.exp(target.log_prob(sets)), rtol=1e-9, atol=1e-15
            )
        unfinished = after


def keep(state, places):
    """Keep the proposals at these places, in this order."""
    for name in ("items", "rows"):
        state[name][: len(places)] = state[name][places]
    state["pool"][1] = len(places)


def in_pool(state):
    return state["items"][: state["pool"][1]]


def nothing(state):
    pass


def throw_the_unfinished_draw_away(state):
    forget_the_picks(state)
    state["pool"][2] = len(state["N"])


# Broken twins: each changes one thing.


def sort_by_row(state):
    keep(state, np.argsort(in_pool(state), kind="stable"))


def take_each_row_once(state):
    keep(state, np.sort(np.unique(in_pool(state), return_index=True)[1]))


def take_the_first_batches(state):
    keep(state, np.flatnonzero(in_pool(state) < np.median(in_pool(state))))


def forget_the_picks(state):
    state["N"][:] = np.eye(len(state["N"]))


class OtherPool(streamed.StreamedDraws):
    """Draws from a pool that is changed whenever it has been filled."""

    def _fill(self, state, rng):
        super()._fill(state, rng)
        self.change(state)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (nothing, assert_law),
        (throw_the_unfinished_draw_away, assert_law),
        (sort_by_row, assert_not_law),
        (take_each_row_once, assert_not_law),
        (take_the_first_batches, assert_not_law),
        (forget_the_picks, assert_not_law),
    ],
)
def test_the_check_rejects_broken_pools(change, check):
    target, stream = pair("gaussian", 3)
    sampler = Exact(pool=20).prepare(stream)
    twin = OtherPool(**{f.name: getattr(sampler, f.name) for f in dataclasses.fields(sampler)})
    object.__setattr__(twin, "change", change)
    rng = np.random.default_rng(3)
    subsets = np.empty((8000, target.r), np.int32)
    one_chain.advance(twin, one_chain.start(twin, rng), rng, subsets)
    check(subsets, target)


def counted_pair(name):
    """A pair, and the list that grows by one with each pass over the rows."""
    target, stream = pair(name, 3)
    passes = []
    source = stream.source
    counted = dataclasses.replace(source, function=lambda: passes.append(1) or source.function())
    stream.__dict__["source"] = counted
    return target, stream, passes


def test_further_draws_of_a_generator_use_the_pool_that_is_left():
    target, stream, passes = counted_pair("gaussian")
    rng = np.random.default_rng(7)
    sampler = prepare(stream)
    subsets = np.array([sampler.draw(rng) for _ in range(3000)])
    assert len(passes) == 1
    assert_law(subsets, target)
    again, rng = prepare(pair("gaussian", 3)[1]), np.random.default_rng(7)
    np.testing.assert_array_equal([again.draw(rng) for _ in range(10)], subsets[:10])
    # A seed has the same draws whatever was drawn before, and so it begins with a pass.
    np.testing.assert_array_equal(sampler.draw(5), sampler.draw(5))
    assert len(passes) == 3


@pytest.fixture
def known_entropy(monkeypatch):
    """Let calls without a seed begin with a known one: a law test must not fail by chance."""
    monkeypatch.setattr(
        sampling, "spawn", lambda rng, count=1: spawn(5 if rng is None else rng, count)
    )


def test_the_check_rejects_calls_that_use_a_pool_twice(known_entropy, monkeypatch):
    target, stream, passes = counted_pair("gaussian")
    start = streamed.StreamedDraws.start

    def from_the_top(self, *arguments):
        state = start(self, *arguments)
        state["pool"][0, 0] = 0
        return state

    monkeypatch.setattr(streamed.StreamedDraws, "start", from_the_top)
    subsets = np.concatenate([sample(stream, 10).subsets[0] for _ in range(300)])
    assert len(passes) == 1
    assert_not_law(subsets, target)


def test_further_calls_without_a_seed_use_the_pool_that_is_left(known_entropy):
    target, stream, passes = counted_pair("gaussian")
    calls = [sample(stream, 10) for _ in range(300)]
    subsets = np.concatenate([samples.subsets[0] for samples in calls])
    assert len(passes) == 1
    assert [int(samples.stats["passes"][0]) for samples in calls[:3]] == [1, 0, 0]
    assert calls[2].stats["draws"] == 10
    assert_law(subsets, target)
    # While a call runs, another one draws proposals of its own.
    seen = []
    sample(stream, 10, progress=lambda _: seen.append(sample(stream, 10)))
    assert seen
    assert len(passes) == 2
    with ThreadPoolExecutor(1) as executor:
        for _ in range(2):
            assert sample(stream, 10, executor=executor).stats["passes"] == 1
    first, second = (sample(stream, 5, rng=1).subsets for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_sampler_leaves_its_pool_behind_when_it_is_pickled(table):
    sampler = prepare(StreamedDPP(array_rows(table[0], None)))
    first = sampler.draw(np.random.default_rng(7))
    again = pickle.loads(pickle.dumps(sampler))
    np.testing.assert_array_equal(again.draw(np.random.default_rng(7)), first)


@pytest.fixture
def table():
    rng = np.random.default_rng(11)
    return rng.normal(size=(1000, 4)), rng.random(1000)


def same_draws(stream, other, draws=50):
    mine, theirs = (sample(target, draws, rng=3).subsets for target in (stream, other))
    np.testing.assert_array_equal(mine, theirs)


def mapped(folder, X, name="X.npy"):
    np.save(folder / name, X)
    return np.load(folder / name, mmap_mode="r")


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
def test_memory_maps_are_streamed(tmp_path, table, dtype):
    X = (100 * table[0]).astype(dtype)
    target = ProjectionDPP.from_features(mapped(tmp_path, X))
    assert repr(target) == "StreamedDPP(r=4, n=1000, batches=1)"
    inside = ProjectionDPP.from_features(X.astype(float))
    items = np.array([[5, 7, 100, 999], [0, 1, 2, 3]])
    np.testing.assert_allclose(target.log_prob(items), inside.log_prob(items), rtol=1e-9)
    np.testing.assert_allclose(target.marginals([3, 8]), inside.marginals()[[3, 8]])
    np.testing.assert_allclose(target.inclusion(items[:, :2]), inside.inclusion(items[:, :2]))
    same_draws(target, ProjectionDPP.from_features(lambda: [X]))


def test_views_and_fortran_order_of_memory_maps_are_read_right(tmp_path, table):
    X = mapped(tmp_path, table[0])
    np.save(tmp_path / "F.npy", np.asfortranarray(table[0]))
    same_draws(ProjectionDPP.from_features(X[::2]), ProjectionDPP.from_features(lambda: [X[::2]]))
    F = np.load(tmp_path / "F.npy", mmap_mode="r")
    same_draws(ProjectionDPP.from_features(F), ProjectionDPP.from_features(X))


def altered(path, X):
    """A map whose rows were changed in memory: the file has the old ones."""
    X[0] = 100.0
    return X


def replaced(path, X):
    """A map of a file in whose place there is another one now."""
    np.save(path.with_name("other.npy"), np.zeros(X.shape))
    os.replace(path.with_name("other.npy"), path)
    return X


def removed(path, X):
    path.unlink()
    return X


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("change", [altered, replaced, removed])
def test_memory_maps_are_read_as_they_were_passed(tmp_path, table, change, mode):
    path = tmp_path / "X.npy"
    np.save(path, table[0])
    X = np.load(path, mmap_mode=mode)
    if change is altered and mode == "r":
        return  # it cannot be changed
    X = change(path, X)
    inside = ProjectionDPP.from_features(np.array(X))
    target = ProjectionDPP.from_features(X)
    items = [0, 1, 999]
    np.testing.assert_allclose(target.marginals(items), inside.marginals()[items])
    # So they are by another process, to which a map goes by name only if the file is the same.
    again = pickle.loads(pickle.dumps(target))
    np.testing.assert_array_equal(again.marginals(items), target.marginals(items))
    same_draws(again, target)
    selector = LandmarkSelector(4, transformer="pca", random_state=0).fit(X)
    np.testing.assert_array_equal(selector.landmarks_, X[selector.indices_])


@pytest.mark.parametrize("mode", ["r", "c"])
def test_an_unchanged_map_travels_by_name(tmp_path, mode):
    X = np.random.default_rng(0).normal(size=(5000, 4))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
    source = array_rows(mapped, None)
    assert len(pickle.dumps(source)) < 2000
    again = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(next(again.batches())[1].rows, X)
    assert len(pickle.dumps(array_rows(mapped[::2], None))) > X.nbytes / 2


def test_a_generator_that_threads_share_is_named():
    def batches():  # fails as a generator does while another thread is in it
        yield next(shared)

    shared = batches()
    with pytest.raises(ValueError, match="another thread is reading; let it return a new one"):
        ProjectionDPP.from_features(lambda: shared)


def test_weights_of_memory_maps(tmp_path, table):
    X, weights = table
    target = ProjectionDPP.from_features(
        mapped(tmp_path, X), weights=mapped(tmp_path, weights, "w.npy")
    )
    same_draws(target, ProjectionDPP.from_features(lambda: [(X, weights)]))
    inside = ProjectionDPP.from_features(X, weights=weights)
    np.testing.assert_allclose(target.marginals([1, 2]), inside.marginals()[[1, 2]])


def test_principal_directions(table, tmp_path):
    X = table[0] * [1, 2, 3, 4] + 5
    inside = ProjectionDPP.from_features(X, rank=2)
    target = ProjectionDPP.from_features(batches_of(X, None, 100), rank=2)
    np.testing.assert_allclose(target.marginals(np.arange(1000)), inside.marginals(), rtol=1e-9)


def test_nearly_dependent_columns_keep_their_digits():
    rng = np.random.default_rng(2)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    X = rng.normal(size=(400, 5)) @ (np.array([1, 1e-3, 1e-6, 1e-9, 1e-12])[:, None] * turn)
    inside = ProjectionDPP.from_features(X)
    target = ProjectionDPP.from_features(batches_of(X, None, 37))
    found = target.marginals(np.arange(400))
    np.testing.assert_allclose(found, inside.marginals(), rtol=1e-9)
    assert found.sum() == pytest.approx(5, rel=1e-12)


def parquet(folder, X, weights, pieces):
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(X.shape[1])]
    for k, rows in enumerate(np.array_split(np.arange(len(X)), pieces)):
        columns = {name: X[rows, j] for j, name in enumerate(names)}
        columns |= {"key": [f"row {i}" for i in rows], "weight": weights[rows]}
        pq.write_table(pa.table(columns), folder / f"part-{k:03}.parquet", row_group_size=100)


def test_parquet_folders_are_streamed(tmp_path, table):
    X, weights = table
    parquet(tmp_path, X, weights, 3)
    target = ProjectionDPP.from_features(tmp_path, weights="weight", ids="key")
    inside = ProjectionDPP.from_features(X, weights=weights)
    np.testing.assert_allclose(target.marginals([0, 999]), inside.marginals()[[0, 999]])
    assert target.labels_of(np.array([998, 0, 500])) == ["row 998", "row 0", "row 500"]
    chosen = ProjectionDPP.from_features(tmp_path, columns=["x0", "x2"])
    assert chosen.r == 2
    with pytest.raises(ValueError, match=r"no column 'y'; there are x0, x1"):
        ProjectionDPP.from_features(tmp_path, columns=["y"])
    with pytest.raises(TypeError, match="pass the name of that column, not ndarray; x0, x1"):
        ProjectionDPP.from_features(tmp_path, weights=weights)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's own code, by pandas
def test_dask_collections_are_not_pulled_in(table, tmp_path):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    X, weights = table
    blocks = ProjectionDPP.from_features(lambda: np.array_split(X, 5))
    same_draws(ProjectionDPP.from_features(da.from_array(X, chunks=(200, 2))), blocks)
    both = lambda: zip(np.array_split(X, 5), np.array_split(weights, 5), strict=True)  # noqa: E731
    weighted = ProjectionDPP.from_features(both)
    for q in (weights, da.from_array(weights, chunks=77)):
        array = da.from_array(X, chunks=(200, 4))
        same_draws(ProjectionDPP.from_features(array, weights=q), weighted)
    parquet(tmp_path, X, weights, 5)
    frame = dd.read_parquet(tmp_path)
    found = ProjectionDPP.from_features(frame, weights="weight", ids="key")
    same_draws(found, weighted)
    assert found.labels_of(np.array([700])) == ["row 700"]


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], "the source has no rows"),
        ([np.zeros((0, 3))], "the source has no rows"),
        ([np.ones((4, 3)), np.ones((4, 2))], "batch 0 has 3 columns and batch 1 has 2"),
        ([np.eye(3), [[1, 2, np.nan]]], "row 0 of batch 1 has an entry that is NaN"),
        ([np.eye(3), np.ones(3)], "batch 1 must have rows and columns, got shape"),
        ([np.ones((2, 3))], "there are 2 rows with 3 features"),
        ([np.ones((9, 3))], "numerical rank 1 but 3 columns"),
        ([(np.eye(3), [1, -1, 1])], "row 1 of batch 0 has a weight that is negative"),
    ],
)
def test_bad_batches_are_named(batches, message):
    with pytest.raises(ValueError, match=message):
        ProjectionDPP.from_features(lambda: iter(batches))


def test_a_source_that_changes_is_found_out():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="rows of batch 0, or their order, are not those"):
        sample(ProjectionDPP.from_features(lambda: [rng.normal(size=(9, 2))]), 1, rng=0)
    sizes = iter([5, 6, 7])
    X = np.eye(9, 2) + 1
    with pytest.raises(ValueError, match="batch 1 had 5 rows in the first pass and 6"):
        sample(ProjectionDPP.from_features(lambda: [X, X[: next(sizes)]]), 1, rng=0)


@pytest.mark.parametrize("rows", [np.random.default_rng(0).normal(size=(9, 4)), np.eye(40)])
def test_another_order_of_rows_is_found_out(rows):
    rng = np.random.default_rng(1)
    target = ProjectionDPP.from_features(lambda: iter([rng.permutation(rows)]))
    with pytest.raises(ValueError, match="or their order"):
        sample(target, 1, rng=0)


def test_places_of_blocks_count():
    rows = np.random.default_rng(0).integers(9, size=(2**14, 4)).astype(float)
    sums = [
        sum(block.total for block in View().blocks(0, Batch(X, None)))
        for X in (rows, np.roll(rows, 2**13, axis=0))
    ]
    assert sums[0] != pytest.approx(sums[1], rel=1e-9)


def test_row_numbers_beyond_32_bits(table):
    target = ProjectionDPP.from_features(lambda: [table[0]])
    expected = sample(target, 5, rng=1)
    first = 2**32  # as if so many rows came before
    target.__dict__.update(n=first + target.n, _starts=np.array([first]))
    found = sample(target, 5, rng=1)
    np.testing.assert_array_equal(found.subsets, expected.subsets.astype(np.int64) + first)
    assert prepare(target).draw(1).min() >= first
    assert found.thinned(2, rng=0).subsets.max() >= first
    assert found.to_pandas().to_numpy().min() >= first


def test_what_needs_the_matrix_says_so(table):
    target = ProjectionDPP.from_features(lambda: [table[0]])
    with pytest.raises(ValueError, match="needs the whole matrix in memory"):
        sample(target, 1, method="exchange")
    with pytest.raises(ValueError, match=r"target.marginals\(items\)"):
        target.marginals()


def block_of(k, folder):
    """A block of rows; the process that makes block 3 of pass two for the first time is killed."""
    made = folder / f"block {k}"
    if k == 3 and made.exists() and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    made.touch()
    return np.random.default_rng(k).normal(size=(500, 6))


@pytest.mark.filterwarnings("ignore")
def test_workers_and_a_killed_one_change_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    import cloudpickle
    import dask.array as da
    from dask import delayed

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    alone = ProjectionDPP.from_features(lambda: (block_of(k, tmp_path) for k in range(8)))
    (tmp_path / "killed").touch()
    expected = sample(alone, 30, rng=1)
    for file in tmp_path.iterdir():
        file.unlink()
    blocks = [da.from_delayed(delayed(block_of)(k, tmp_path), (500, 6), float) for k in range(8)]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        found = sample(ProjectionDPP.from_features(da.concatenate(blocks)), 30, rng=1)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(found.subsets, expected.subsets)


@pytest.mark.parametrize("downweight", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_landmarks_of_streams_follow_the_law_of_those_in_memory(table, downweight, weighted):
    X = table[0] * [3, 2, 1, 0.5] + [5, 0, 100, -1]
    w = table[1] if weighted else np.ones(len(X))
    source = source_of(batches_of(X, w if weighted else None, 170), None, None, None)[0]
    found, variance = streamed_target(source, 3, downweight)
    chosen = sample(found, 5, rng=0).best()
    np.testing.assert_array_equal(found.rows_of(chosen), X[chosen])
    centred = X - np.average(X, axis=0, weights=w)
    _, _, directions = np.linalg.svd(np.sqrt(w)[:, None] * centred, full_matrices=False)
    scores = centred @ directions[:2].T
    left_out = (centred**2).sum(axis=1) - (scores**2).sum(axis=1)
    q = w / (left_out / np.average(left_out, weights=w) + 0.01) if downweight else w
    target = ProjectionDPP.from_features(np.column_stack([np.ones(len(X)), scores]), weights=q)
    assert found.log_prob(chosen) == pytest.approx(target.log_prob(chosen), abs=1e-8)
    assert variance == pytest.approx(w @ (centred**2).sum(axis=1) / w.sum())
    with pytest.raises(ValueError, match="pass n_landmarks=5 or less"):
        streamed_target(source, 6, downweight)


def test_a_selector_takes_streams(table, tmp_path):
    X = table[0]
    selector = LandmarkSelector(4, transformer="pca", random_state=0)
    again = selector.fit(mapped(tmp_path, X)).transform(X[:3])
    np.testing.assert_array_equal(selector.landmarks_, X[selector.indices_])
    inside = clone(selector).fit(X)
    assert selector.gamma_ == pytest.approx(inside.gamma_)
    assert selector.n_features_in_ == 4
    np.testing.assert_array_equal(again, selector.fit(lambda: [X]).transform(X[:3]))
    selector.fit(lambda: [X[:0], X])  # batches without rows are allowed
    np.testing.assert_array_equal(selector.landmarks_, X[selector.indices_])
    with pytest.raises(ValueError, match="drawn with transformer='pca'"):
        LandmarkSelector(4).fit(lambda: [X])
    assert LandmarkSelector(4).fit(mapped(tmp_path, X)).landmarks_.shape == (4, 4)


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr("zonodpp.cli.large.physical_memory", lambda: 50_000)


def test_the_command_line_reads_large_arrays_in_passes(call, tmp_path, table, little_memory):
    path = tmp_path / "X.npy"
    np.save(path, table[0].astype(np.float32))
    code, out, err = call("sample", path, "-n", 3, "--seed", 1, "--json")
    assert code == 0
    assert "takes 0.0 GiB as float64: reading it in passes" in err
    streamed = sample(ProjectionDPP.from_features(np.load(path, mmap_mode="r")), 3, rng=1)
    assert json.loads(out)["subsets"] == streamed.subsets.tolist()
    code, out, _ = call("info", path)
    assert code == 0
    assert "large for this machine's memory" in out
    assert "4 items" in out
    code, _, err = call("sample", path, "-n", 3, "--method", "exchange")
    assert code == 2
    assert "needs the whole matrix in memory" in err
    np.save(tmp_path / "w.npy", table[1])
    assert call("sample", path, "-n", 3, "--weights", tmp_path / "w.npy")[0] == 0


def test_the_command_line_reads_large_parquet_files_in_passes(call, tmp_path, table, little_memory):
    X, weights = table
    parquet(tmp_path, X, weights, 1)
    path = tmp_path / "part-000.parquet"
    words = ("-n", 30, "--seed", 1, "--id", "key", "--weights", "weight", "--columns", "x0,x2")
    code, out, err = call("sample", path, *words, "--json")
    assert code == 0, err
    assert "reading it in passes" in err
    found = json.loads(out)
    assert (found["items"], found["size"]) == (1000, 2)
    assert found["labels"] == [[[f"row {i}" for i in s] for s in c] for c in found["subsets"]]
    chosen = ProjectionDPP.from_features(path, columns=["x0", "x2"], weights="weight")
    assert found["subsets"] == sample(chosen, 30, rng=1).subsets.tolist()
    assert sample(chosen, 30, rng=1).labelled() == found["subsets"]
    assert "row " in call("sample", path, *words)[1]
    assert "row " in call("sample", path, *words, "--csv")[1]
    code, out, _ = call("info", path, "--columns", "x0,x2")
    assert "Parquet" in out
    assert "2 items" in out
    words = ("-k", 3, "--seed", 1, "--id", "key", "--weights", "weight")
    code, out, err = call("landmarks", path, *words, "--json")
    assert code == 0, err
    assert "reading it in passes" in err
    found = json.loads(out)
    assert found["labels"] == [f"row {i}" for i in found["indices"]]
    assert found["items"] == 1000
