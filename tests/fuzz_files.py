"""Files for fuzz.py: valid ones for every reader, hostile ones, and ways to damage them."""

import io
import os
import re
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp

from zonodpp import DPP, KDPP, ProjectionDPP, Samples, VolumeSampling, sample
from zonodpp.cli import main

NUMBERS = (-1, 0, 1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**32, 10**9, 2**62, -(2**63), 2**64, 10**30)
WORDS = (*map(str, NUMBERS), "nan", "inf", "-inf", "1e400", "1e-320", "", "x", "null", "[]", "{}")


class Case(NamedTuple):
    """A file and how it is read: words of a command line, FILE among them, or a function."""

    name: str
    data: bytes
    read: object


def use_samples(path):
    """Load saved draws and compute with them."""
    try:
        samples = Samples.load(path)
        samples.marginals()
        samples.labelled()
        str(samples)
        samples.target.log_prob(samples.subsets[0, 0])
        sample(samples.target, 2, rng=0)
    except (ValueError, OSError) as error:
        print(error)


def bytes_of(write):
    """Return what ``write`` writes to a file."""
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "file"))
        (path,) = Path(folder).iterdir()
        return path.read_bytes()


def seeds():
    """Return valid files for all readers."""
    X = np.random.default_rng(0).integers(-9, 9, size=(8, 3)) + 0.5
    links = nx.to_scipy_sparse_array(nx.wheel_graph(6), dtype=float)
    table = (["info", "FILE"], ["sample", "FILE", "-n", "2", "--seed", "1"])
    graph = (["trees", "FILE", "--seed", "1"],)
    named = "name;a;b\n" + "".join(f'"x;{k}\nline";{k};{k * k}\n' for k in range(4))
    edges = "# wheel\n" + "".join(f"{u} {v} {u + v}\n" for u, v in nx.wheel_graph(6).edges)
    text = (Path(__file__).parents[1] / "src/zonodpp/data/article.txt").read_bytes()[:1500]
    labelled = pd.DataFrame(X, columns=list("abc")).assign(name=list("stuvwxyz"))
    files = [
        ("x.npy", table, bytes_of(lambda path: np.save(path, X))),
        ("f.npy", table, bytes_of(lambda path: np.save(path, np.asfortranarray(X, ">f4")))),
        ("x.npz", table, bytes_of(lambda path: np.savez(path, X))),
        ("packed.npz", table, bytes_of(lambda path: np.savez_compressed(path, X))),
        ("x.mtx", table, bytes_of(lambda path: scipy.io.mmwrite(path, X))),
        ("coo.mtx", table, bytes_of(lambda path: scipy.io.mmwrite(path, sp.coo_array(X)))),
        ("graph.mtx", graph, bytes_of(lambda path: scipy.io.mmwrite(path, links))),
        ("graph.npz", graph, bytes_of(lambda path: sp.save_npz(path, links.tocsr()))),
        ("graph.npy", graph, bytes_of(lambda path: np.save(path, links.toarray()))),
        ("graph.graphml", graph, bytes_of(lambda path: nx.write_graphml(nx.wheel_graph(6), path))),
        ("graph.edges", graph, edges.encode()),
        ("x.csv", table, "".join("{},{},{}\n".format(*row) for row in X).encode()),
        ("x.tsv", table, "".join("{}\t{}\t{}\n".format(*row) for row in X).encode()),
        (
            "named.csv",
            (["sample", "FILE", "--id", "name", "-n", "2", "--seed", "1"],),
            named.encode(),
        ),
        ("x.parquet", table, bytes_of(labelled.iloc[:, :3].to_parquet)),
        ("n.parquet", (["info", "FILE", "--id", "name"],), bytes_of(labelled.to_parquet)),
        ("text.txt", (["summarize", "FILE", "-k", "2", "--seed", "1"],), text),
    ]
    for layout in ("csr", "csc", "coo", "bsr", "dia"):
        matrix = sp.csr_array(X).asformat(layout)
        files.append((f"{layout}.npz", table, bytes_of(lambda p, m=matrix: sp.save_npz(p, m))))
    return [*expand(files), *saved(X, links), *checkpoints(edges)]


def expand(files):
    return [Case(name, data, read) for name, ways, data in files for read in ways]


def saved(X, links):
    """Return saved draws of all kinds of targets."""
    targets = {
        "dense": ProjectionDPP.from_features(X).with_labels(list("stuvwxyz")),
        "sparse": VolumeSampling(sp.csc_array(X.T), power=1, weights=np.arange(1.0, 9.0)),
        "graph": ProjectionDPP.from_graph(links),
        "dpp": DPP.from_features(X),
        "kdpp": KDPP.from_features(X, 2),
    }
    found = []
    for name, target in targets.items():
        data = bytes_of(sample(target, 4, rng=1, track=[[0], [1, 2]]).save)
        found += [Case(f"{name}.npz", data, ["info", "FILE"])]
        found += [Case(f"{name}.samples", data, use_samples)]
    return found


def checkpoints(edges):
    """Return checkpoints and the command lines that resume them."""
    Path("table.csv").write_text("".join(f"{k},{k * k % 7},{k % 3}\n" for k in range(1, 9)))
    Path("wheel.edges").write_text(edges)
    found = []
    for method in ("exact", "exchange", "zonotope", "trees"):
        file = ["trees", "wheel.edges"] if method == "trees" else ["sample", "table.csv"]
        words = [*file, "--method", method, "--seed", "1", "--chains", "2", "--checkpoint", "FILE"]
        data = bytes_of(lambda path, words=words: call([*words, "-n", "4"], path))
        found.append(Case(f"{method}.checkpoint", data, [*words, "-n", "9"]))
    return found


def call(words, path):
    """Run a command line in this process; return its exit code."""
    try:
        main([path if word == "FILE" else word for word in words])
    except SystemExit as end:
        return end.code
    return 1


def crafted():
    """Return files made to do harm."""

    def npy(header):
        return b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n"

    def archive(members, how=zipfile.ZIP_DEFLATED):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", how) as packed:
            for name, content in members.items():
                packed.writestr(name, content)
        return data.getvalue()

    def bomb(start):
        data = io.BytesIO()
        packed = zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        with packed, packed.open("a.npy", "w") as member:
            member.write(start)
            for _ in range(1200):
                member.write(bytes(10**6))
        return data.getvalue()

    def sparse(layout, shape, **parts):
        arrays = {"format": layout.encode(), "shape": shape, "data": np.ones(2), **parts}
        return bytes_of(lambda path: np.savez(path, **arrays))

    def header(shape, kind="<f8"):
        return b"{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
            kind.encode(),
            repr(shape).encode(),
        )

    start = b"%%MatrixMarket matrix "
    ends = {"row": np.array([0, 1]), "col": np.array([0, 1])}
    files = {
        "nested.npy": npy(b"-" * 9000 + b"1"),
        "brackets.npy": npy(b"(" * 9000),
        "huge.npy": npy(header((10**12, 10**12))),
        "wide.npy": npy(header((0, 10**12))),
        "minus.npy": npy(header((-1, -1))) + bytes(8),
        "objects.npy": npy(header((2, 2), "|O")) + bytes(99),
        "empty_type.npy": npy(header((10**12, 2), "|S0")),
        "bomb.npz": bomb(npy(header((15 * 10**7,)))),
        "text.npz": archive({"a.txt": b"text"}),
        "twice.npz": archive({"a.npy": npy(header((1, 1))) + bytes(8), "a": b"text"}),
        "lzma.npz": archive({"a.npy": npy(header((1, 1))) + bytes(8)}, zipfile.ZIP_LZMA),
        "index.npz": sparse(
            "csr", (2, 2), indices=np.array([0, 10**8]), indptr=np.array([0, 1, 2])
        ),
        "indptr.npz": sparse(
            "csr", (2, 2), indices=np.array([0, 1]), indptr=np.array([0, 10**9, 2])
        ),
        "shape.npz": sparse("coo", (10**9, 10**9), **ends),
        "large.npz": sparse("coo", (10**6, 10**6), **ends),
        "square.npz": sparse("coo", (20_000, 20_000), **ends),
        "tall.npz": sparse("coo", (10**6, 2), **ends),
        "dia.npz": sparse("dia", (10**9, 10**9), offsets=np.array([10**9])),
        "incomplete.npz": sparse("csr", (2, 2)),
        "nul.mtx": start + b"array real general\n2 2\n1\0\n2\n3\n4\n",
        "junk.mtx": start + b"array real general\n2 2\n3.4 junk",
        "large.mtx": start + b"coordinate real general\n1000000000 1000000000 1\n1 1 1\n",
        "dense.mtx": start + b"array real symmetric\n1000000000 1000000000\n1\n",
        "weight.edges": b"a b 1\nb c " + b"9" * 10**6 + b"x\n",
        "nan.edges": b"a b nan\na b nan\n",
        "cell.csv": b"1,2\n3," + b"9" * 10**6 + b"\n",
        "columns.csv": b"," * 10**6 + b"\n",
        "quote.csv": b'a,"b\n' * 10**4,
        "laughs.graphml": b'<!DOCTYPE g [<!ENTITY a "aaaaaaaaaa">'
        + b"".join(b'<!ENTITY a%d "%s">' % (k, b"&a%d;" % (k - 1) * 10) for k in range(1, 12))
        + b"]><graphml>&a11;</graphml>",
        "deep.graphml": b"<graphml>" + b"<graph>" * 10**5,
        "marks.txt": "a\u0301".encode() * 10**5,
        "long.txt": "\u4e2d\u6587".encode() * 10**5,
        "lines.txt": b"word\n" * 10**5,
    }
    ways = {
        "edges": [["trees", "FILE"]],
        "graphml": [["trees", "FILE"]],
        "txt": [["summarize", "FILE", "-k", "2"]],
        "csv": [["info", "FILE"], ["trees", "FILE"]],
    }
    usual = [["info", "FILE"], ["sample", "FILE", "-n", "2"], ["trees", "FILE"]]
    return expand(
        [(name, ways.get(name.split(".")[1], usual), data) for name, data in files.items()]
    )


def damage_bytes(data, rng):
    """Change bytes: flip a bit, write a number over them, cut out, repeat, insert, cut off."""
    data = bytearray(data)
    at = int(rng.integers(len(data) + 1))
    size = int(rng.integers(1, 20))
    match rng.integers(6):
        case 0 if at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        case 1:
            number = int(rng.choice(len(NUMBERS)))
            data[at : at + 8] = (NUMBERS[number] % 2**64).to_bytes(8, "little")
        case 2:
            del data[at : at + size]
        case 3:
            data[at:at] = data[at : at + size] * int(rng.integers(1, 50))
        case 4:
            data[at:at] = rng.bytes(size)
        case _:
            del data[at:]
    return bytes(data)


def damage_text(data, rng):
    """Replace a number in text by another number or by what is no number."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    if not found:
        return damage_bytes(data, rng)
    number = found[int(rng.integers(len(found)))]
    word = WORDS[int(rng.integers(len(WORDS)))].encode()
    return data[: number.start()] + word + data[number.end() :]


def damage_array(data, rng):
    """Change an entry, the type or the shape of a .npy file, or its bytes."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    way = rng.integers(5)
    if array.dtype == np.uint8 and array.ndim == 1 and way < 4:  # the text of our own header
        array = np.frombuffer(damage_text(array.tobytes(), rng), np.uint8)
    elif way == 0 and array.size:
        array = array.copy()
        number = NUMBERS[int(rng.integers(len(NUMBERS)))] % 2**63
        kind = array.dtype if array.dtype.kind in "iuf" else np.uint8
        array.flat[int(rng.integers(array.size))] = np.array(number).astype(kind).item()
    elif way == 1:
        array = array.astype(rng.choice(["f4", "i8", "i4", "u1", "c16", "U3", "?"]))
    elif way == 2:
        array = array.ravel()[: int(rng.integers(array.size + 1))]
    elif way == 3:
        array = np.resize(array, rng.integers(0, 5, size=int(rng.integers(4))))
    else:
        return damage_bytes(data, rng)
    return bytes_of(lambda path: np.save(path, array))


def damage_archive(data, rng):
    """Change, drop or exchange a member of a zip archive; checksums are right afterwards."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = list(members)
    one, other = (names[int(k)] for k in rng.integers(len(names), size=2))
    match rng.integers(8):
        case 0:
            del members[one]
        case 1:
            members[one] = members[other]
        case _:
            members[one] = damage_array(members[one], rng)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def damaged(case, rng):
    """Return a case with one to three changes."""
    data = case.data
    for _ in range(int(rng.integers(1, 4))):
        way = damage_bytes
        if rng.random() < 0.75:
            way = damage_text
            if data.startswith(b"PK"):
                way = damage_archive
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a complex number loses its imaginary part
                data = way(data, rng)
        except Exception:  # damaged too much already to be taken apart
            data = damage_bytes(data, rng)
    return case._replace(data=data)
