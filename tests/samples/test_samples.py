"""Samples: estimates, pictures in words, ArviZ, and files that come back whole or not at all."""

import datetime
import errno
import os
import pickle
import resource
import subprocess
import sys
import zipfile
from typing import ClassVar

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import graphs, targets, volume_targets

from zonodpp import DPP, KDPP, ProjectionDPP, Samples, VolumeSampling, sample
from zonodpp.diagnostics import from_arviz
from zonodpp.io.files import replacing
from zonodpp.samples.storage import pack_target, read_arrays, unpack_target, write_arrays


@pytest.fixture(scope="module")
def wheel():
    target = ProjectionDPP.from_graph(nx.wheel_graph(5))
    return sample(target, 400, method="exact", chains=3, rng=0, track=[[0, 1], [2]])


@pytest.fixture(scope="module")
def short(wheel):
    """Draws of different sizes, filled up with -1."""
    return wheel.thinned(1.5, rng=0)


class TestTrace:
    def test_set_and_tracked(self, wheel):
        np.testing.assert_array_equal(wheel.trace([0, 1]), wheel.contains([0, 1]))
        np.testing.assert_array_equal(wheel.trace(tracked=1), wheel.tracked[:, :, 1])
        with pytest.raises(ValueError, match="no tracked set has the number True"):
            wheel.trace(tracked=True)

    def test_sets_may_come_from_a_generator(self, wheel):
        sets = ([k, k + 1] for k in range(3))
        found = sample(wheel.target, 20, method="exact", rng=0, track=sets)
        np.testing.assert_array_equal(found.tracked[:, :, 2], found.contains([2, 3]))

    @pytest.mark.parametrize("name", ["ess", "rhat", "mcse"])
    def test_diagnostics(self, wheel, name):
        by_set = getattr(wheel, name)([0, 1])
        assert by_set == from_arviz(name, wheel.contains([0, 1]))
        assert by_set == getattr(wheel, name)(tracked=0)
        assert np.isnan(getattr(wheel, name)([0, 1, 2, 3, 4]))  # never all of them
        assert np.isfinite(getattr(wheel, name)(0))

    def test_mcse_is_the_error(self, wheel):
        p = wheel.inclusion([0])
        independent = np.sqrt(p * (1 - p) / 1200)
        assert wheel.mcse([0]) == pytest.approx(independent, rel=0.15)

    def test_refuses(self, wheel, short):
        with pytest.raises(TypeError, match="one of the two"):
            wheel.trace()
        with pytest.raises(TypeError, match="one of the two"):
            wheel.trace([0], tracked=0)
        with pytest.raises(ValueError, match="was given 2 sets"):
            wheel.ess(tracked=2)
        with pytest.raises(ValueError, match="was given 0 sets"):
            short.ess(tracked=0)

    def test_thinned(self, short):
        assert short.rhat([0]) < 1.05
        assert short.ess([0]) > 500


class TestSequence:
    def test_draws_of_all_chains_in_order(self, wheel):
        rows = wheel.subsets.reshape(-1, wheel.subsets.shape[2])
        assert len(wheel) == len(rows)
        np.testing.assert_array_equal(np.array(list(wheel)), rows)
        np.testing.assert_array_equal(np.array(wheel[2:5]), rows[2:5])
        np.testing.assert_array_equal(wheel[-1], rows[-1])
        np.testing.assert_array_equal(wheel[np.int64(1)], rows[1])
        with pytest.raises(IndexError):
            wheel[len(rows)]
        with pytest.raises(TypeError):
            wheel[0, 1]

    def test_without_the_filling(self, short):
        assert [draw.size for draw in short] == short.sizes.ravel().tolist()
        assert all((draw >= 0).all() for draw in short[:3])


class TestPandas:
    def test_indices(self):
        X = np.random.default_rng(0).normal(size=(6, 3))
        few = sample(DPP.from_features(X), 20, chains=2, rng=0)
        table = few.to_pandas()
        assert table.index.names == ["chain", "draw"]
        assert table.shape == (len(few), few.subsets.shape[2])
        filled = table.fillna(-1).to_numpy(dtype=int)
        np.testing.assert_array_equal(filled, few.subsets.reshape(filled.shape))

    def test_labels_and_tracked_sets(self, wheel):
        table = wheel.to_pandas()
        tracked = [name for name in table if name.startswith("tracked_")]
        assert len(tracked) == wheel.tracked.shape[2] > 0
        chain, draw = table.index[-1]
        assert table.iloc[-1].drop(tracked).tolist() == wheel.labelled()[chain][draw]
        np.testing.assert_array_equal(table[tracked[0]], wheel.tracked[:, :, 0].ravel())

    def test_names_the_extra(self, wheel, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"to_pandas needs pandas.*zonodpp\[parquet\]"):
            wheel.to_pandas()


class TestUnique:
    @pytest.mark.parametrize("n", [8, 60, 5000, 2**31 - 3])
    def test_against_numpy(self, n):
        rng = np.random.default_rng(n)
        pool = np.sort(rng.integers(-1, min(n, 10**9), size=(40, 7)), axis=1)
        rows = pool[rng.integers(40, size=(3, 50))].astype(np.int32)
        target = ProjectionDPP(np.ones((1, 2)))
        target.__dict__["n"] = n  # only n matters here
        samples = Samples(rows, target, "test")
        expected, counts = np.unique(rows.reshape(-1, 7), axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        found = samples.unique()
        np.testing.assert_array_equal(found[0], expected[order])
        np.testing.assert_array_equal(found[1], counts[order])
        assert found[0].dtype == np.int32

    def test_best_of_sets_of_any_size_holds_items_alone(self):
        drawn = sample(DPP(L=np.diag([0.5, 3.0, 0.2])), 200, rng=0)
        np.testing.assert_array_equal(drawn.best(), [1])

    def test_best_refuses_thinned(self, short):
        with pytest.raises(ValueError, match="thinned"):
            short.best()


class TestTable:
    def test_facts(self, wheel):
        text = wheel._repr_html_()
        assert text.startswith("<table><tr>")
        assert text.endswith("</table>")
        assert "<th>method</th><td>exact</td>" in text
        assert "<th>chains</th><td>3</td>" in text
        assert "<th>items</th><td>4 out of 8</td>" in text
        assert f"<th>distinct subsets</th><td>{len(wheel.unique()[1])}</td>" in text
        assert "seconds" in text
        assert "acceptance" not in text
        assert text.count("share of (") == 5
        best = int(np.argmax(wheel.marginals()))
        exact = wheel.target.marginals()[best]
        assert f"{wheel.marginals()[best]:.3f} (exact {exact:.3f})" in text

    def test_a_table_where_labels_are_numbers(self):
        frame = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 3)), index=range(1, 9))
        text = sample(ProjectionDPP.from_features(frame), 50, rng=0)._repr_html_()
        assert text.count("(exact ") == 5

    def test_labels_are_escaped(self):
        frame = pd.DataFrame([[1.0, 2.0]], columns=["<script>", "a & b"])
        text = sample(ProjectionDPP(frame), 10, rng=0)._repr_html_()
        assert "<script>" not in text
        assert "a &amp; b" in text

    def test_thinned_and_other_powers_have_no_exact(self, short):
        assert "exact " not in short._repr_html_()
        volume = Samples(short.subsets, VolumeSampling(np.eye(4, 8) + 1), "exchange")
        assert "exact " not in volume._repr_html_()

    def test_acceptance(self, wheel):
        stats = {"steps": np.array([100, 300]), "accepted": np.array([10, 70])}
        samples = Samples(wheel.subsets[:2], wheel.target, "exchange", stats=stats)
        assert samples.acceptance == 0.2
        assert "<th>acceptance</th><td>20.0%</td>" in samples._repr_html_()
        assert wheel.acceptance is None

    def test_no_draws(self, wheel):
        nothing = Samples(wheel.subsets[:, :0], wheel.target, "exact")
        assert "<th>draws</th><td>0</td>" in nothing._repr_html_()


class TestArviz:
    def test_indicators(self, wheel):
        tree = wheel.to_arviz()
        items = tree.posterior["items"]
        assert items.dims == ("chain", "draw", "item")
        assert items.dtype == np.int8
        for item in range(8):
            np.testing.assert_array_equal(items.sel(item=item), wheel.contains([item]))
        assert items.coords["label"].values.tolist() == [str(e) for e in wheel.target.labels]
        assert tree.posterior["sets"].dims == ("chain", "draw", "set")
        np.testing.assert_array_equal(tree.posterior["sets"], wheel.tracked)
        np.testing.assert_array_equal(tree.sample_stats["seconds"], wheel.stats["seconds"])
        assert tree.posterior.attrs["method"] == "exact"

    def test_thinned(self, short):
        items = short.to_arviz().posterior["items"]
        np.testing.assert_array_equal(items.sum("item"), short.sizes)
        assert "sets" not in short.to_arviz().posterior

    def test_chosen_items(self, wheel, short):
        for samples in (wheel, short):
            items = samples.to_arviz(items=[5, 2]).posterior["items"]
            assert items["item"].values.tolist() == [5, 2]
            np.testing.assert_array_equal(items.sel(item=2), samples.contains([2]))

    def test_too_large(self, wheel, monkeypatch):
        monkeypatch.setattr("zonodpp.samples.result._LARGEST_TREE", 1000)
        with pytest.raises(ValueError, match=r"all 8 items .* pass items="):
            wheel.to_arviz()
        assert wheel.to_arviz(items=[0]).posterior["items"].shape == (3, 400, 1)

    def test_names_the_extra(self, wheel, monkeypatch):
        monkeypatch.setitem(sys.modules, "xarray", None)
        with pytest.raises(ImportError, match=r"zonodpp\[stats\]"):
            wheel.to_arviz()

    def test_arviz_reads_it(self, wheel):
        pytest.importorskip("arviz_base")
        import arviz_stats

        tree = wheel.to_arviz()
        table = arviz_stats.summary(tree)
        assert len(table) == 8 + 2
        np.testing.assert_allclose(
            arviz_stats.ess(tree)["items"], [wheel.ess([i]) for i in range(8)]
        )
        np.testing.assert_allclose(
            arviz_stats.rhat(tree)["sets"], [wheel.rhat([0, 1]), wheel.rhat([2])]
        )


def assert_same_target(found, expected):
    assert type(found) is type(expected)
    assert repr(found) == repr(expected)
    assert sp.issparse(found.A) == sp.issparse(expected.A)
    if sp.issparse(expected.A):
        assert type(found.A) is type(expected.A)
        assert (found.A != expected.A).nnz == 0
    else:
        np.testing.assert_array_equal(found.A, expected.A)
        assert found.A.flags.f_contiguous == expected.A.flags.f_contiguous
    assert found.labels == expected.labels
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert (found.graph is None) == (expected.graph is None)
    if expected.graph is not None:
        assert found.graph.nodes == expected.graph.nodes
        np.testing.assert_array_equal(found.graph.tail, expected.graph.tail)
        np.testing.assert_array_equal(found.graph.head, expected.graph.head)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.subsets, expected.subsets)
    assert found.subsets.dtype == expected.subsets.dtype
    np.testing.assert_array_equal(found.tracked, expected.tracked)
    assert list(found.stats) == list(expected.stats)
    for name, values in expected.stats.items():
        np.testing.assert_array_equal(found.stats[name], values)
    assert found.method == expected.method
    assert_same_target(found.target, expected.target)


@pytest.fixture
def through_a_file(tmp_path):
    def write_and_read(target):
        write_arrays(tmp_path / "target", "target", *pack_target(target))
        return unpack_target(*read_arrays(tmp_path / "target", "target"))

    return write_and_read


class TestTargetsPacked:
    @pytest.mark.parametrize("name", targets())
    def test_projection_dpps(self, through_a_file, name):
        target = targets()[name]
        again = through_a_file(target)
        assert_same_target(again, target)
        assert (sample(again, 20, rng=0).subsets == sample(target, 20, rng=0).subsets).all()

    def test_other_powers(self, through_a_file):
        for target in volume_targets(0.7).values():
            assert_same_target(through_a_file(target), target)

    def test_features(self, through_a_file):
        X = np.random.default_rng(0).normal(size=(9, 3))
        for features in (X, sp.csr_array(X), sp.csc_matrix(X), X[:, ::-1], np.asfortranarray(X)):
            target = ProjectionDPP.from_features(features, weights=np.arange(1.0, 10))
            assert_same_target(through_a_file(target), target)

    @pytest.mark.parametrize(
        "labels",
        [
            ["a", "b", "\u00e9\U0001f600"],
            [1, -2, 10**30],
            [("a", 1), ("b", ("c", 2)), ()],
            [None, True, 1.5],
            [["a"], "tuple", 0],
            [np.int64(3), np.float64(0.5), np.str_("x")],
        ],
    )
    def test_labels(self, through_a_file, labels):
        target = ProjectionDPP._make(np.array([[1.0, 2.0, 3.0]]), None, labels)
        assert through_a_file(target).labels == labels

    def test_multigraph_edges(self, through_a_file):
        target = ProjectionDPP.from_graph(graphs()["parallel"], weight="w")
        again = through_a_file(target)
        assert again.labels == target.labels
        assert all(type(edge) is tuple for edge in again.labels)

    def test_other_labels_become_text(self, through_a_file):
        days = [datetime.date(2020, 1, d) for d in (1, 2)]
        target = ProjectionDPP._make(np.array([[1.0, 2.0]]), None, days)
        with pytest.warns(UserWarning, match="labels of type date are saved as text"):
            again = through_a_file(target)
        assert again.labels == ["2020-01-01", "2020-01-02"]


class TestFiles:
    def test_round_trip(self, wheel, short, tmp_path):
        X = np.random.default_rng(0).normal(size=(30, 4))
        volume = Samples(
            np.zeros((2, 0, 4), np.int32), VolumeSampling(X.T, weights=np.ones(30)), "exchange"
        )
        for samples in (wheel, short, volume):
            samples.save(tmp_path / "draws")
            assert_same(Samples.load(tmp_path / "draws"), samples)

    def test_path_is_exactly_as_given(self, wheel, tmp_path):
        for name in ("plain", "draws.npz", "run.dat", ".hidden"):
            wheel.save(tmp_path / name)
            wheel.save(str(tmp_path / name))  # again, over the first
        assert sorted(os.listdir(tmp_path)) == [".hidden", "draws.npz", "plain", "run.dat"]

    def test_relative_path_and_link(self, wheel, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "store").mkdir()
        (tmp_path / "store" / "old").write_text("old")
        (tmp_path / "link").symlink_to("store/old")
        wheel.save("link")
        assert (tmp_path / "link").is_symlink()
        assert_same(Samples.load("store/old"), wheel)

    def test_usual_permissions(self, wheel, tmp_path):
        wheel.save(tmp_path / "draws")
        (tmp_path / "other").touch()
        assert (tmp_path / "draws").stat().st_mode == (tmp_path / "other").stat().st_mode

    def test_same_draws_same_bytes(self, wheel, tmp_path):
        wheel.save(tmp_path / "a")
        wheel.save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_numpy_can_read_it(self, wheel, tmp_path):
        wheel.save(tmp_path / "a")
        with np.load(tmp_path / "a", allow_pickle=False) as data:
            np.testing.assert_array_equal(data["subsets"], wheel.subsets)

    def test_never_unpickles(self, wheel, tmp_path):
        strange = Samples(wheel.subsets, wheel.target, "x", stats={"a": np.array([object()])})
        with pytest.raises(ValueError, match="allow_pickle"):
            strange.save(tmp_path / "a")
        assert os.listdir(tmp_path) == []
        header = np.frombuffer(b'{"zonodpp": "samples", "format": 2}', np.uint8)
        np.savez(tmp_path / "evil.npz", header=header, subsets=np.array([object()]))
        with pytest.raises(ValueError, match=r"damaged.*pickle"):
            Samples.load(tmp_path / "evil.npz")


class TestWritingFails:
    @pytest.fixture
    def old(self, wheel, tmp_path):
        wheel.save(tmp_path / "draws")
        return (tmp_path / "draws").read_bytes()

    def test_disk_full_while_writing(self, wheel, tmp_path, old):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))  # no file may grow beyond
        try:
            with pytest.raises(OSError, match=r"cannot write .*draws") as error:
                wheel.save(tmp_path / "draws")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert error.value.errno == errno.EFBIG
        assert "memory" not in str(error.value)  # the command line shows this, and then ends
        assert "still in memory" in error.value.__notes__[0]
        assert (tmp_path / "draws").read_bytes() == old
        assert os.listdir(tmp_path) == ["draws"]

    @pytest.mark.parametrize("function", ["fsync", "replace"])
    @pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space"), KeyboardInterrupt()])
    def test_at_the_end(self, wheel, tmp_path, old, monkeypatch, function, failure):
        def fail(*args):
            raise failure

        monkeypatch.setattr(os, function, fail)
        with pytest.raises(type(failure), match="cannot write" if failure.args else None):
            wheel.save(tmp_path / "draws")
        assert (tmp_path / "draws").read_bytes() == old
        assert os.listdir(tmp_path) == ["draws"]

    def test_no_such_folder(self, wheel, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"cannot write .*nowhere"):
            wheel.save(tmp_path / "nowhere" / "draws")
        with pytest.raises(IsADirectoryError):
            wheel.save(tmp_path)
        assert os.listdir(tmp_path) == []

    def test_a_device_or_a_pipe_is_not_replaced(self, wheel, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match=r"cannot write .*pipe: it is not a regular file"):
            wheel.save(tmp_path / "pipe")

    def test_names_as_long_as_the_system_takes(self, wheel, tmp_path):
        for name in ("x" * 255, "\u4e00" * 85, "a." + "b" * 253):
            wheel.save(tmp_path / name)
            assert_same(Samples.load(tmp_path / name), wheel)


KILLED = """
import os, signal, sys
from zonodpp.io.files import replacing
with replacing(sys.argv[1]) as temporary:
    open(temporary, "wb").write(bytes(1000))
    os.kill(os.getpid(), signal.SIGKILL)
"""


class TestKilledWrites:
    @pytest.mark.parametrize("name", ["draws", "draws.npz"])
    def test_what_they_leave_is_swept_up(self, wheel, tmp_path, name):
        for _ in range(2):
            subprocess.run([sys.executable, "-c", KILLED, tmp_path / name], check=False)
        assert len(os.listdir(tmp_path)) == 1  # the second has swept up after the first
        (tmp_path / ".other.0123abcd.tmp").touch()  # of another file
        (tmp_path / f".{name}.0123abcd.tmp").touch()  # as earlier versions named them
        wheel.save(tmp_path / name)
        assert sorted(os.listdir(tmp_path)) == [".other.0123abcd.tmp", name]

    def test_a_file_that_is_being_written_is_not(self, wheel, tmp_path):
        with replacing(tmp_path / "draws") as temporary:
            wheel.save(tmp_path / "draws")
            assert os.path.exists(temporary)
        assert os.listdir(tmp_path) == ["draws"]

    def test_a_checkpoint_that_goes_on_sweeps_up(self, tmp_path):
        target = ProjectionDPP(np.ones((1, 3)))
        sample(target, 5, rng=0, checkpoint=tmp_path / "run")
        subprocess.run([sys.executable, "-c", KILLED, tmp_path / "run"], check=False)
        assert len(os.listdir(tmp_path)) == 2
        with pytest.raises(ValueError, match="more than the 1 asked for"):
            sample(target, 1, rng=0, checkpoint=tmp_path / "run")
        assert os.listdir(tmp_path) == ["run"]

    def test_a_failure_leaves_nothing(self, tmp_path):
        with pytest.raises(LookupError), replacing(tmp_path / "a"):
            raise LookupError
        assert os.listdir(tmp_path) == []


class TestBadFiles:
    def test_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            Samples.load(tmp_path / "none")

    def test_foreign(self, tmp_path):
        path = tmp_path / "file"
        for content in (b"", b"PK", b"hello", pickle.dumps([1, 2])):
            path.write_bytes(content)
            with pytest.raises(ValueError, match="was not written by zonodpp"):
                Samples.load(path)
        np.savez(tmp_path / "a.npz", subsets=np.zeros((1, 2, 3)))
        with pytest.raises(ValueError, match="another program's archive"):
            Samples.load(tmp_path / "a.npz")
        np.savez(tmp_path / "b.npz", header=np.frombuffer(b"[1, 2]", np.uint8))
        with pytest.raises(ValueError, match="another program's archive"):
            Samples.load(tmp_path / "b.npz")
        with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
            archive.writestr("readme.txt", "hello")
        with pytest.raises(ValueError, match="another program's archive"):
            Samples.load(tmp_path / "c.zip")

    def test_other_kind_and_format(self, tmp_path, monkeypatch):
        write_arrays(tmp_path / "a", "checkpoint", {}, {})
        with pytest.raises(ValueError, match="holds checkpoint, not samples"):
            Samples.load(tmp_path / "a")
        monkeypatch.setattr("zonodpp.samples.storage.FORMAT", 3)
        write_arrays(tmp_path / "a", "samples", {}, {})
        monkeypatch.undo()
        with pytest.raises(ValueError, match="has format 3"):
            Samples.load(tmp_path / "a")

    def test_incomplete(self, wheel, tmp_path):
        wheel.save(tmp_path / "a")
        header, arrays = read_arrays(tmp_path / "a", "samples")
        for name in [*arrays, "header"]:
            some = {key: value for key, value in arrays.items() if key != name}
            fewer = header if name != "header" else {"method": "exact"}
            write_arrays(tmp_path / "b", "samples", fewer, some)
            with pytest.raises(ValueError, match="is damaged"):
                Samples.load(tmp_path / "b")
        write_arrays(tmp_path / "b", "samples", header, {**arrays, "tracked": np.zeros(3)})
        with pytest.raises(ValueError, match="do not fit together"):
            Samples.load(tmp_path / "b")

    @staticmethod
    def refused(samples, tmp_path, change):
        """Rewrite a file, with checksums that are right."""
        path = tmp_path / "draws"
        samples.save(path)
        header, arrays = read_arrays(path, "samples")
        change(header, arrays)
        write_arrays(path, "samples", header, arrays)
        with pytest.raises(ValueError, match="is damaged"):
            Samples.load(path)

    @pytest.mark.parametrize("name", ["indices", "indptr"])
    @pytest.mark.parametrize("value", [-1, -(2**31), 10**9])
    @pytest.mark.parametrize("place", [0, 1, -1])
    def test_sparse_indices(self, tmp_path, name, value, place):
        def change(header, arrays):
            arrays[f"target/{name}"] = arrays[f"target/{name}"].copy()
            arrays[f"target/{name}"][place] = value

        A = sp.csc_array(np.eye(3, 6) + np.eye(3, 6, 2))
        self.refused(sample(ProjectionDPP(A), 5, rng=0), tmp_path, change)

    @pytest.mark.parametrize("name", ["tail", "head"])
    @pytest.mark.parametrize("value", [-1, -(2**40), 5, 10**9])
    def test_edges(self, wheel, tmp_path, name, value):
        def change(header, arrays):
            arrays[f"target/{name}"] = arrays[f"target/{name}"].copy()
            arrays[f"target/{name}"][2] = value

        self.refused(wheel, tmp_path, change)

    GRAPHS: ClassVar = {
        "loops": lambda header, arrays: arrays.update({"target/tail": arrays["target/head"]}),
        "too few nodes": lambda header, arrays: header["target"]["graph"].update(nodes=1),
        "too many nodes": lambda header, arrays: header["target"]["graph"].update(nodes=10**12),
        "nodes in words": lambda header, arrays: header["target"]["graph"].update(nodes="five"),
        "names": lambda header, arrays: header["target"]["graph"].update(names=["a"]),
        "labels": lambda header, arrays: header["target"].update(labels=["a"]),
        "labels in words": lambda header, arrays: header["target"].update(labels="abcdefgh"),
        "no edge labels": lambda header, arrays: header["target"].update(labels=None),
        "weights": lambda header, arrays: arrays.update({"target/weights": np.zeros(8)}),
        "short edges": lambda header, arrays: arrays.update({"target/tail": np.arange(3)}),
        "edges of floats": lambda header, arrays: arrays.update({"target/tail": np.ones(8)}),
        "stats": lambda header, arrays: arrays.update({"stats/draws": np.ones(2)}),
        "no target": lambda header, arrays: header.update(target=None),
        "item too large": lambda header, arrays: arrays["subsets"].__iadd__(10**8),
        "items that do not ascend": lambda header, arrays: arrays["subsets"].__imul__(0),
        "items of another type": lambda header, arrays: arrays.update(
            subsets=arrays["subsets"].astype(np.float64)
        ),
        "draws of more than all": lambda header, arrays: arrays.update(
            subsets=np.zeros((3, 400, 9), np.int32)
        ),
    }

    @pytest.mark.parametrize("change", GRAPHS.values(), ids=GRAPHS)
    def test_headers_and_shapes(self, wheel, tmp_path, change):
        self.refused(wheel, tmp_path, change)

    @pytest.mark.parametrize(
        "change", [{"shape": [10**9, 10**9]}, {"shape": [8]}, {"power": 1.5}, {"sparse": "coo"}]
    )
    @pytest.mark.parametrize("make", [np.array, sp.csc_array])
    def test_headers_of_matrices(self, tmp_path, make, change):
        samples = sample(ProjectionDPP(make([[1, 2, 0, -1], [0, 1, 2, 1]])), 3, rng=0)
        self.refused(samples, tmp_path, lambda header, arrays: header["target"].update(change))

    DENSE: ClassVar = {
        "NaN": lambda array: array * np.nan,
        "single precision": lambda array: array.astype(np.float32),
        "one number": lambda array: array[:1, :1],
        "more features than items": lambda array: array.T,
        "flat": lambda array: array.reshape(-1),
    }

    @pytest.mark.parametrize("make", DENSE.values(), ids=DENSE)
    def test_dense(self, tmp_path, make):
        def change(header, arrays):
            A = arrays["target/A"] = np.ascontiguousarray(make(arrays["target/A"]))
            header["target"]["shape"] = list(A.shape)

        samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 3, rng=0)
        self.refused(samples, tmp_path, change)

    @pytest.mark.parametrize("make", [lambda K: DPP(L=K), lambda K: KDPP(K, 2)])
    def test_spectra(self, tmp_path, make):
        samples = sample(make(np.diag([1.0, 2.0, 3.0, 4.0])), 5, rng=0)

        def twice(header, arrays):
            arrays["target/vectors"] = arrays["target/vectors"] * 2

        def nothing(header, arrays):
            arrays["target/vectors"] = arrays["target/vectors"] * np.nan

        def fewer(header, arrays):
            arrays["target/logs"] = arrays["target/logs"][:-1]

        def infinite(header, arrays):
            arrays["target/logs"] = np.array([0.0, np.inf, 0.0, 0.0])

        def wide(header, arrays):
            arrays["target/vectors"] = np.zeros((1, 2**21))
            arrays["target/logs"] = np.zeros(2**21)

        def many(header, arrays):
            header["target"]["k"] = 10**9
            arrays["target/logs"] = arrays["target/logs"] * np.nan

        for change in (twice, nothing, fewer, infinite, wide, many):
            self.refused(samples, tmp_path, change)

    def test_compressed_files_are_not_unpacked(self, wheel, tmp_path):
        wheel.save(tmp_path / "a")
        with zipfile.ZipFile(tmp_path / "a") as old:
            header = old.read("header.npy")
        with zipfile.ZipFile(tmp_path / "b", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.npy", header)
            with archive.open("subsets.npy", "w", force_zip64=True) as member:
                for _ in range(100):
                    member.write(bytes(10**6))
        with pytest.raises(ValueError, match=r"is damaged .it is compressed"):
            Samples.load(tmp_path / "b")

    @pytest.mark.parametrize(
        "text",
        [
            "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999, 99999999), }",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }",
            "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<i4', 'fortran_order': False, 'shape': " + "(" * 3000 + ")" * 3000 + ", }",
            "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (-3,), }",
            "\x00\x01",
        ],
    )
    def test_arrays_that_announce_what_they_are_not(self, wheel, tmp_path, text):
        wheel.save(tmp_path / "a")
        with zipfile.ZipFile(tmp_path / "a") as old:
            header = old.read("header.npy")
        start = b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little")
        with zipfile.ZipFile(tmp_path / "b", "w") as archive:
            archive.writestr("header.npy", header)
            archive.writestr("subsets.npy", start + text.encode("latin-1") + b"\n" + bytes(12))
        with pytest.raises(ValueError, match=r"is damaged"):
            Samples.load(tmp_path / "b")

    def test_deep_headers(self, tmp_path):
        text = b"[" * 10**5
        with zipfile.ZipFile(tmp_path / "a", "w") as archive, archive.open("header.npy", "w") as a:
            np.lib.format.write_array(a, np.frombuffer(text, np.uint8))
        with pytest.raises(ValueError, match=r"is damaged"):
            Samples.load(tmp_path / "a")

    def test_an_altered_header_that_announces_less(self, tmp_path):
        """The checksum covers bytes that the altered header leaves out."""
        samples = sample(ProjectionDPP(np.eye(2, 5)), 5000, rng=0)
        samples.save(tmp_path / "a")
        whole = (tmp_path / "a").read_bytes()
        assert whole.count(b"(1, 5000, 2)") == 1
        for header in (b"(1, 1000, 2)", b"(1, 5000, 1)", b"(0, 5000, 2)"):
            (tmp_path / "b").write_bytes(whole.replace(b"(1, 5000, 2)", header))
            with pytest.raises(ValueError, match=r"is damaged \(checksum of subsets"):
                Samples.load(tmp_path / "b")

    def test_cut_off_or_altered_anywhere(self, tmp_path):
        """Every change is seen, or is one that does no harm (a date, a comment)."""
        samples = sample(ProjectionDPP(np.ones((1, 3))), 5, rng=0, track=[[1]])
        path = tmp_path / "draws"
        samples.save(path)
        whole = path.read_bytes()
        for cut in range(0, len(whole), 13):
            path.write_bytes(whole[:cut])
            with pytest.raises(ValueError, match=r"is damaged|not written by zonodpp"):
                Samples.load(path)
        seen = 0
        for place in range(0, len(whole), 3):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            before = path.read_bytes()
            try:
                again = Samples.load(path)
            except ValueError:
                seen += 1
            else:
                assert_same(again, samples)
            assert path.read_bytes() == before
        assert seen > len(whole) / 3 * 0.7


def test_one_set_at_a_time():
    samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 10, rng=0)
    with pytest.raises(ValueError, match="one set of items, got 2"):
        samples.inclusion([[1, 2], [0, 3]])


def test_draws_are_thinned_once():
    samples = sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 10, rng=0).thinned(1.5, rng=0)
    with pytest.raises(ValueError, match="thinned already"):
        samples.thinned(1)


def test_without_draws_there_is_nothing_to_estimate():
    target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    samples = Samples(np.empty((1, 0, 2), np.int32), target, "exchange", stats={})
    for estimate in (samples.best, samples.marginals, lambda: samples.inclusion([0])):
        with pytest.raises(ValueError, match="there are no draws"):
            estimate()
