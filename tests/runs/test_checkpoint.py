"""Checkpoints: kill -9 at any moment, damaged and foreign files, full disks."""

import os
import signal
import subprocess
import sys
import textwrap

import networkx as nx
import numpy as np
import pytest

from zonodpp import ProjectionDPP, Samples, sample
from zonodpp.runs import checkpoint
from zonodpp.samples import storage
from zonodpp.samples.storage import read_arrays, write_arrays
from zonodpp.zonotope.tile import tile_at

METHODS = {
    "exact": {"method": "exact"},
    "trees": {"method": "trees"},
    "zonotope": {"method": "zonotope"},
    "paper": {"method": "zonotope", "preset": "paper"},
    "heat-bath": {"method": "exchange"},
    "barker": {"method": "exchange", "rule": "barker"},
}


@pytest.fixture
def target():
    graph = nx.wheel_graph(6)
    for k, (u, v) in enumerate(graph.edges):
        graph[u][v]["w"] = 1.0 + k % 3
    return ProjectionDPP.from_graph(graph, weight="w")


def same(first, second):
    assert np.array_equal(first.subsets, second.subsets)
    assert np.array_equal(first.tracked, second.tracked)
    for name in first.stats:
        if name != "seconds":
            assert np.array_equal(first.stats[name], second.stats[name]), name


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
def test_a_run_in_parts_is_the_whole_run(target, tmp_path, options):
    call = {"chains": 3, "rng": 5, "burn_in": 20, "thin": 2, "track": [[0, 1]], **options}
    whole = sample(target, 400, **call)
    path = tmp_path / "run"
    for draws in (10, 150, 400):
        parts = sample(target, draws, checkpoint=path, **call)
    same(parts, whole)
    # The run is over: the same call has nothing left to do.
    same(sample(target, 400, checkpoint=path, **call), whole)


def test_an_interrupted_run_goes_on(target, tmp_path):
    call = {"chains": 2, "rng": 1, "method": "zonotope"}
    seen = []

    def stop(progress):
        seen.append(progress)
        if progress.drawn > 200:
            raise KeyboardInterrupt

    path = tmp_path / "run"
    with pytest.warns(UserWarning, match="interrupted"):
        partial = sample(target, 200_000, checkpoint=path, progress=stop, **call)
    assert 0 < partial.subsets.shape[1] < 200_000
    same(sample(target, 200_000, checkpoint=path, **call), sample(target, 200_000, **call))


# Runs that kill themselves at a given event: before the draws of a slice or of a file are stored,
# or in the middle of writing a file. Moments by the clock would depend on the machine. The last run
# is not killed. All are forks of one process, since the imports take longer than a run.
SCRIPT = """
    import os, signal, sys
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process with threads must not fork
    import numpy as np
    from zonodpp import ProjectionDPP, sample
    from zonodpp.io import files as _files
    from zonodpp.runs import checkpoint
    from zonodpp.runs import groups
    checkpoint.INTERVAL, checkpoint.SHARE, groups.SLICE = 0.0, 1e9, 0.005
    path, result, *events = sys.argv[1:]
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(4, 14)))
    call = {{"method": "{method}", "rng": 7, "thin": {thin}, "track": [[0, 1]]}}
    sample(target, 1, **call)  # loads what all runs need
    for event in events:
        child = os.fork()
        if not child:
            left = int(event)
            break
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    else:
        sys.exit()

    def count(function):
        def call(*arguments):
            global left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)
        return call

    groups.Run.store = count(groups.Run.store)
    _files._sync = count(_files._sync)
    samples = sample(target, {draws}, chains=3, workers=2, checkpoint=path, **call)
    samples.save(result)
"""


@pytest.mark.parametrize(
    ("method", "draws", "thin"),
    [("zonotope", 1000, 10), ("exchange", 1000, 300), ("zonotope", 3, 3000)],
)
def test_kill(tmp_path, method, draws, thin):
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(SCRIPT.format(method=method, draws=draws, thin=thin)))
    path, result = tmp_path / "checkpoint", tmp_path / "result"
    A = np.random.default_rng(0).normal(size=(4, 14))
    call = {"method": method, "chains": 3, "rng": 7, "thin": thin, "track": [[0, 1]]}
    whole = sample(ProjectionDPP(A), draws, **call)
    events = ["1", "2", "3", "8", "13", "21", "0"]  # the first three come before the first slice
    command = [sys.executable, script, path, result, *events]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    *ends, last = map(int, done.stdout.split())
    assert ends[:3] == [-signal.SIGKILL] * 3
    assert set(ends) <= {-signal.SIGKILL, 0}
    assert last == 0
    same(Samples.load(result), whole)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "result", "run.py"]


CALL = {"method": "exchange", "chains": 2, "rng": 1, "thin": 2, "burn_in": 3}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"method": "zonotope"}, "another method: exchange, not zonotope"),
        ({"rule": "barker"}, "another options"),
        ({"chains": 3}, "another chains: 2, not 3"),
        ({"rng": 2}, "another seed"),
        ({"thin": 1}, "another thin: 2, not 1"),
        ({"burn_in": 0}, "another burn_in"),
        ({"track": [[0]]}, "another track"),
    ],
)
def test_another_run_is_refused_by_name(target, tmp_path, change, name):
    path = tmp_path / "run"
    sample(target, 20, checkpoint=path, **CALL)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=name):
        sample(target, 20, checkpoint=path, **{**CALL, **change})
    assert path.read_bytes() == before


def test_another_target_or_version_is_refused_by_name(target, tmp_path, monkeypatch):
    path = tmp_path / "run"
    sample(target, 20, checkpoint=path, **CALL)
    with pytest.raises(ValueError, match="another target"):
        sample(ProjectionDPP(np.eye(5, 10)), 20, checkpoint=path, **CALL)
    monkeypatch.setattr(checkpoint, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"another version: .*, not 99\.0"):
        sample(target, 20, checkpoint=path, **CALL)


def test_a_file_of_an_older_layout_is_refused_in_words(target, tmp_path):
    def older(header, arrays):
        del header["identity"]["layout"]
        header["identity"]["version"] = "0.1"

    with pytest.raises(ValueError, match=r"checkpoint of another version of zonodpp \(0\.1\)"):
        rewritten(target, tmp_path / "run", older, **CALL)


def test_fewer_draws_than_there_are(target, tmp_path):
    path = tmp_path / "run"
    sample(target, 20, checkpoint=path, **CALL)
    with pytest.raises(ValueError, match="holds 20 draws already, more than the 10"):
        sample(target, 10, checkpoint=path, **CALL)


@pytest.mark.parametrize("where", [0, 0.3, 0.5, -30])
def test_a_damaged_file_is_reported_and_left_alone(target, tmp_path, where):
    path = tmp_path / "run"
    sample(target, 200, checkpoint=path, **CALL)
    data = bytearray(path.read_bytes())
    place = int(where * len(data)) if isinstance(where, float) else where
    data[place] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=str(path)):
        sample(target, 200, checkpoint=path, **CALL)
    assert path.read_bytes() == bytes(data)


def test_a_truncated_file_and_another_file(target, tmp_path):
    path = tmp_path / "run"
    sample(target, 200, checkpoint=path, **CALL)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="damaged"):
        sample(target, 200, checkpoint=path, **CALL)
    sample(target, 5, **CALL).save(path)
    with pytest.raises(ValueError, match="holds samples, not checkpoint"):
        sample(target, 200, checkpoint=path, **CALL)
    path.write_text("not ours")
    with pytest.raises(ValueError, match="not written by zonodpp"):
        sample(target, 200, checkpoint=path, **CALL)


def test_a_folder_that_is_not_there_is_an_error_before_the_run(target, tmp_path):
    with pytest.raises(OSError, match="cannot write") as error:
        sample(target, 10**6, checkpoint=tmp_path / "no" / "run", **CALL)
    assert "memory" not in str(error.value)  # there are no draws yet
    assert not hasattr(error.value, "__notes__")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device on this system")
def test_a_disk_that_fills_up_loses_nothing(target, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    path = tmp_path / "run"
    write, calls = (
        storage.write_arrays,
        [],
    )  # the first call makes sure that the file can be written

    def fills_up(*arguments):
        calls.append(1)
        if len(calls) > 1:
            with open("/dev/full", "wb", buffering=0) as full:
                full.write(b"x")  # a real "no space left on device"
        write(*arguments)

    monkeypatch.setattr(checkpoint, "write_arrays", fills_up)
    with pytest.warns(RuntimeWarning, match=r"No space left on device.*run loses nothing"):
        samples = sample(target, 500, checkpoint=path, **CALL)
    same(samples, sample(target, 500, **CALL))


def test_no_seed_goes_on_with_the_generators_of_the_file(target, tmp_path):
    path = tmp_path / "run"
    call = {**CALL, "rng": None}
    first = sample(target, 50, checkpoint=path, **call)
    longer = sample(target, 80, checkpoint=path, **call)
    assert np.array_equal(longer.subsets[:, :50], first.subsets)


def test_a_seed_belongs_to_a_run_from_its_beginning(target, tmp_path):
    path, without = tmp_path / "run", {**CALL, "rng": None}
    sample(target, 20, checkpoint=path, **without)
    with pytest.raises(ValueError, match="another seed"):
        sample(target, 30, checkpoint=path, **CALL)
    path.unlink()
    sample(target, 20, checkpoint=path, **CALL)
    sample(target, 30, checkpoint=path, **without)  # goes on, and the file keeps its seed
    same(sample(target, 40, checkpoint=path, **CALL), sample(target, 40, **CALL))


@pytest.mark.parametrize("name", checkpoint.GENERATORS)
def test_generators_of_numpy_go_on(target, tmp_path, name):
    def call(draws, **more):
        rng = np.random.Generator(getattr(np.random, name)(7))
        return sample(target, draws, **{**CALL, **more, "rng": rng})

    call(10, checkpoint=tmp_path / "run")
    same(call(30, checkpoint=tmp_path / "run"), call(30))


def test_a_generator_that_numpy_does_not_have(target, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "GENERATORS", {"SFC64": None})
    with pytest.raises(ValueError, match=r"cannot hold a generator PCG64; .* SFC64"):
        sample(target, 10, checkpoint=tmp_path / "run", **CALL)


# Files that somebody has rewritten, with checksums that are right.


def rewritten(target, path, change, **call):
    """Write a checkpoint, change its header and arrays, and go on from it."""
    sample(target, 20, checkpoint=path, **call)
    header, arrays = read_arrays(path, "checkpoint")
    change(header, arrays)
    write_arrays(path, "checkpoint", header, arrays)
    before = path.read_bytes()
    try:
        sample(target, 30, checkpoint=path, **call)
    finally:
        assert path.read_bytes() == before


def put(name, value):
    """Change the first entry of an array, or of a part of a tile: "group0/tiles 0 basis"."""
    name, *part = name.split()

    def change(header, arrays):
        array = arrays[name] = arrays[name].copy()
        if part:
            r, n = arrays["subsets"].shape[2], arrays["group0/c"].size
            array = getattr(tile_at(array[0, int(part[0])], r, n), part[1])
        array.flat[0] = value

    return change


def replace(name, make):
    def change(header, arrays):
        arrays[name] = make(arrays[name])

    return change


ARRAYS = {
    "exact": ["group0/pending", "group1/head"],
    "heat-bath": ["group0/inside", "group0/outside", "group1/place"],
    "barker": ["group0/inside", "group0/place"],
    "zonotope": ["group0/tiles 0 basis", "group1/tiles 2 basis", "group0/progress"],
    "paper": ["group0/tiles 1 basis", "group0/tiles 0 side"],
    "trees": ["group0/counts", "group1/under_way", "subsets"],
}


@pytest.mark.parametrize("value", [-(2**31), -1000, 10**9])
@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method, names in ARRAYS.items() for name in names]
)
def test_indices_out_of_range(target, tmp_path, method, name, value):
    if (name, value) == ("group0/counts", 10**9):
        return  # a count may be any
    call = {"chains": 2, "rng": 1, **METHODS[method]}
    with pytest.raises(ValueError, match=r"run is damaged"):
        rewritten(target, tmp_path / "run", put(name, value), **call)


@pytest.mark.parametrize("name", ["group0/inside", "group1/place", "subsets"])
def test_items_twice(target, tmp_path, name):
    change = replace(name, lambda array: np.zeros_like(array))
    with pytest.raises(ValueError, match=r"run is damaged"):
        rewritten(target, tmp_path / "run", change, **CALL)


SHAPES = {
    "one": lambda array: array.reshape(-1)[:1].reshape((1,) * array.ndim),
    "short": lambda array: array[:-1],
    "flat": lambda array: array.reshape(-1)[None],
    "other type": lambda array: array.astype(np.float32),
    "empty": lambda array: array[:0],
}


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("method", ["heat-bath", "paper"])
def test_shapes_and_types(target, tmp_path, method, make):
    call = {"chains": 2, "rng": 1, **METHODS[method]}
    sample(target, 5, checkpoint=tmp_path / "names", **call)
    _, arrays = read_arrays(tmp_path / "names", "checkpoint")
    for name, array in arrays.items():
        if not array.size or (make(array).shape, make(array).dtype) == (array.shape, array.dtype):
            continue
        path = tmp_path / "run"
        with pytest.raises(ValueError, match=r"run is damaged"):
            rewritten(target, path, replace(name, make), **call)
        path.unlink()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_none(target, tmp_path, number):
    call = {"chains": 2, "rng": 1, "method": "zonotope"}
    with pytest.raises(ValueError, match=r"run is damaged .*NaN or infinity"):
        rewritten(target, tmp_path / "run", put("group0/tiles 0 T", number), **call)


def in_run(name, place, value):
    """Change one of the numbers that a run keeps beside the state of its first chain."""

    def change(header, arrays):
        array = arrays[f"run0/{name}"] = arrays[f"run0/{name}"].copy()
        array[place] = value

    return change


DRAWN, TAKEN, UNFINISHED = range(3)


def no_chain(header, arrays):
    del header["generators"][1]


def no_generator(header, arrays):
    header["generators"][0] = None


def in_rng(**entries):
    return lambda header, arrays: header["generators"][0].update(entries)


HEADERS = {
    "more draws than there are": in_run("steps", DRAWN, 21),
    "absurd draws": in_run("steps", DRAWN, 2**62),
    "fewer draws than there are": in_run("steps", DRAWN, -1),
    "more burn-in than asked for": in_run("steps", TAKEN, -4),
    "more steps than thin": in_run("steps", TAKEN, 2),
    "more unfinished steps than thin": in_run("steps", UNFINISHED, 3),
    "fewer unfinished steps than none": in_run("steps", UNFINISHED, -1),
    "negative time": in_run("seconds", 0, -1.0),
    "no time": in_run("seconds", 0, np.nan),
    "no generator": no_generator,
    "another program": in_rng(bit_generator="default_rng"),
    "a module": in_rng(bit_generator="mtrand"),
    "not a name": in_rng(bit_generator=["PCG64"]),
    "another generator": in_rng(bit_generator="SFC64"),
    "state too large": in_rng(state={"state": 2**200, "inc": 1}),
    "one chain": no_chain,
    "generators of another kind": lambda header, arrays: header.update(generators=3),
    "no generators": lambda header, arrays: header.pop("generators"),
    "one array more": lambda header, arrays: arrays.update(more=np.zeros(3)),
    "one array less": lambda header, arrays: arrays.pop("group1/inside"),
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS)
def test_headers_that_cannot_be(target, tmp_path, change):
    with pytest.raises(ValueError, match=r"run is damaged"):
        rewritten(target, tmp_path / "run", change, **CALL)


@pytest.mark.parametrize(("name", "index"), [("MT19937", "pos"), ("Philox", "buffer_pos")])
def test_generators_that_would_read_outside_their_memory(target, tmp_path, name, index):
    def change(header, arrays):
        state = header["generators"][0]
        (state if index in state else state["state"])[index] = 10**6

    rng = np.random.Generator(getattr(np.random, name)(7))
    sample(target, 20, checkpoint=tmp_path / "run", **{**CALL, "rng": rng})
    header, arrays = read_arrays(tmp_path / "run", "checkpoint")
    change(header, arrays)
    write_arrays(tmp_path / "run", "checkpoint", header, arrays)
    # NumPy 2.5 refuses such a state itself, and calls the places so.
    there = {"pos": "state position", "buffer_pos": "buffer_pos"}[index]
    message = rf"run is damaged .*({index} of generator {name}|{there} must be between)"
    with pytest.raises(ValueError, match=message):
        sample(target, 30, checkpoint=tmp_path / "run", **{**CALL, "rng": None})


def test_an_identity_that_is_none(target, tmp_path):
    def change(header, arrays):
        header["identity"] = [1]

    with pytest.raises(ValueError, match=r"checkpoint of another run"):
        rewritten(target, tmp_path / "run", change, **CALL)
