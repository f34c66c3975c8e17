"""Tables of which the truth is known, written in the ways of many programs; see fuzz.py.

A table is refused with a readable error, or every command reads what was written: the numbers, the
labels, the names of the columns and their order.
"""

import contextlib
import csv
import io
import json
import math
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from zonodpp.cli import main
from zonodpp.cli.header import is_gap
from zonodpp.cli.inputs import read_table, read_weights
from zonodpp.cli.interface import Input, TreesOptions
from zonodpp.cli.rows import read_frame
from zonodpp.cli.trees import _read_graph

NAMES = ["a", "b c", "2019", "2020", "inf", "nan", "0", "1", 'say "x"', "x\ry", "é", "a|b", "c;d"]
LABELS = ["egg", "07", "007", "1e5", "New York", 'a "b"', "x\ry", "x\r\ny", "k;l", "k,l", "NA", "-"]
GAPS = ["", "NA", "nan", "#N/A", "<NA>", "-nan", "NULL", "-", "n.a.", "?"]


class Written(NamedTuple):
    """A file, how it is to be read, and what it holds."""

    name: str
    data: bytes
    options: dict  # of the reader
    values: list  # rows of numbers, NaN where a cell is empty
    labels: list | None
    columns: list | None
    doubtful: bool  # whether the file may be refused, or read another way with a warning


def make_table(rng):
    """Return a table and one way to write it."""
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 5))
    values = rng.integers(-99, 99, size=(n, d)) / (1 if rng.random() < 0.4 else 4)
    gaps = rng.random((n, d)) < (0.1 if rng.random() < 0.3 else 0.0)
    values[gaps] = np.nan
    names = [str(name) for name in rng.choice(NAMES, size=d, replace=rng.random() < 0.2)]
    labels = [str(label) for label in rng.choice(LABELS, size=n)] if rng.random() < 0.5 else None
    if rng.random() < 0.15:
        return _as_json(rng, values, names, labels)
    return _as_text(rng, values, names, labels)


def _as_json(rng, values, names, labels):
    names = list(dict.fromkeys(names))
    values = values[:, : len(names)]
    lines = []
    for k, row in enumerate(values.tolist()):
        line = {} if labels is None else {"label": labels[k]}
        line |= {name: None if math.isnan(x) else x for name, x in zip(names, row, strict=True)}
        lines.append(json.dumps(line, ensure_ascii=bool(rng.random() < 0.5)))
    text = str(rng.choice(["\n", "\r\n", "\n\n"])).join([*lines, ""])
    name = str(rng.choice(["x.jsonl", "x.ndjson", "x.json", "x.csv", "x"]))
    options = {"missing": "median"} | ({} if labels is None else {"id": "label"})
    return Written(name, text.encode(), options, values.tolist(), labels, names, False)


def _as_text(rng, values, names, labels):
    n, d = values.shape
    word = str(rng.choice(GAPS))
    kept = bool(rng.random() < 0.5)  # whole numbers have a point, as floats do, or have none
    cells = [[_cell(x, word, kept) for x in row] for row in values.tolist()]
    header = bool(rng.random() < 0.7)
    top = list(names)
    options = {"missing": "median"}
    doubtful = False
    kind = rng.choice(["none", "rows", "index", "text"]) if labels is None and header else "none"
    if labels is not None:
        cells = [[label, *row] for label, row in zip(labels, cells, strict=True)]
        top = ["label", *top]
        options["id"] = "label" if header else "0"
    elif kind != "none":
        first = {"rows": range(n), "index": rng.permutation(3 * n)[:n]}
        first["text"] = [f"r{k}" for k in range(n)]
        cells = [[str(i), *row] for i, row in zip(first[kind], cells, strict=True)]
        top = ["", *top]
        counts = [str(k) for k in range(n)] == [row[0] for row in cells]
        counts = counts or [str(k + 1) for k in range(n)] == [row[0] for row in cells]
        labels = None if counts else [row[0] for row in cells]
    plain = all(_is_word(name) for name in names)
    if header and (not plain or d == 1):
        options["header"] = True
    if not header and rng.random() < 0.5:
        options["header"] = False
    elif not header:
        first = [*cells[0][1:], *cells[0][:1]]
        doubtful = not any(_is_number(cell) for cell in first) or n < 4
        doubtful = doubtful or cells[0][-d:] == [str(k) for k in range(d)]
        doubtful = doubtful or all(_is_number(row[0]) or is_gap(row[0]) for row in cells[1:])
        doubtful = doubtful or any(1500 <= abs(x) <= 2200 for x in values[0])
    separator = str(rng.choice([",", ";", "\t", "|"]))
    end = str(rng.choice(["\n", "\r\n", "\r"], p=[0.6, 0.3, 0.1]))
    quoting = csv.QUOTE_ALL if rng.random() < 0.2 else csv.QUOTE_MINIMAL
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting)
    whole = csv.writer(file, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL)
    told = rng.random() < 0.15
    if told:
        file.write(f"sep={separator}{end}")
    trailing = [""] * int(rng.integers(1, 3)) if rng.random() < 0.15 else []
    width = len(top) + len(trailing)
    for row in [top] * header + cells:
        broken = quoting == csv.QUOTE_MINIMAL and any("\r" in cell for cell in row)
        (whole if broken else writer).writerow([*row, *trailing])
        if width > 1 and rng.random() < 0.02:
            file.write(end)  # an empty line is no row
    text = file.getvalue()
    if not told:  # a separator may stand in cells, so that it cannot be told for sure
        doubtful = doubtful or any(sign in text.replace(separator, "") for sign in ",;\t|")
    data = text.encode("utf-8-sig" if rng.random() < 0.2 else "utf-8")
    name = "x.tsv" if separator == "\t" and rng.random() < 0.5 else str(rng.choice(["x.csv", "x"]))
    if header and len(set(names)) < d and any(names.count(n) > 1 for n in names):
        doubtful = True
    columns = names if header else None
    return Written(name, data, options, values.tolist(), labels, columns, doubtful)


def _cell(x, gap, pointed):
    if math.isnan(x):
        return gap
    return repr(x) if pointed or x != int(x) else str(int(x))


def _is_word(name):
    return not _is_number(name)


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def check(written):
    """Read a file by every reader; return what is wrong, or an empty string."""
    path = Path(written.name)
    path.write_bytes(written.data)
    warned = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            options = Input(file=str(path), **_chosen(written))
            options.missing = "median"
            table = read_table(options)
            frame = read_frame(Input(file=str(path), **_chosen(written)))
        warned = [str(warning.message) for warning in caught]
    except ValueError as error:
        empty = all(math.isnan(x) for x in np.ravel(written.values))
        return "" if written.doubtful or empty else f"refused: {error}"
    finally:
        wrong = run_commands(path, written)
        path.unlink()
    if wrong:
        return wrong
    if written.doubtful:
        return ""
    if not np.array_equal(table.values, np.array(written.values), equal_nan=True):
        return f"values {table.values.tolist()[:3]} not {written.values[:3]} ({warned})"
    columns = [name.strip() for name in written.columns] if written.columns else None
    if table.columns != columns:
        return f"columns {table.columns} not {columns} ({warned})"
    labels = written.labels and [label.strip() for label in written.labels]
    if table.labels != labels:
        return f"labels {table.labels} not {labels} ({warned})"
    if len(frame.frame) != len(written.values):
        return f"{len(frame.frame)} rows for rows, not {len(written.values)}"
    found = frame.frame.iloc[:, frame.roles.features]
    for k in range(found.shape[1]):
        column = np.array(written.values)[:, k]
        if np.isnan(column).all():
            continue
        numbers = [math.nan if x is None else float(x) for x in _cells(found.iloc[:, k])]
        if not np.array_equal(numbers, column, equal_nan=True):
            return f"column {k} of rows is {numbers[:4]}, not {column[:4]}"
    return check_weights(written, table)


def _cells(column):
    return column.to_numpy(dtype=object, na_value=None)


def _chosen(written):
    return {name: value for name, value in written.options.items() if name != "missing"}


def check_weights(written, table):
    """Read a file of weights, of one column or of two, beside the table."""
    n = len(written.values)
    rows = [str(k + 1) for k in range(n)]
    Path("w.csv").write_text("w\n" + "\n".join(rows) + "\n")
    if read_weights("x", "--weights", "w.csv", n).tolist() != [float(row) for row in rows]:
        return "weights are not those of their file"
    if n % 2 == 0 and n > 2:
        pairs = "".join(f"{row}.5,{row}\n" for row in rows[: n // 2])
        Path("w.csv").write_text(pairs)
        with contextlib.suppress(ValueError):
            read_weights("x", "--weights", "w.csv", n)
            return "weights of two columns are taken for one"
    return ""


def check_graph(rng):
    """Write a cycle of nodes of odd names as an edge list, read it, and compare the names."""
    signs = ['"', '""', ",", ";", "|", "#", "%", "b", "07", "\u00e9", "'"]
    names = {"".join(rng.choice(signs, size=rng.integers(1, 4))) for _ in range(8)}
    names |= {str(label).strip() for label in rng.choice(LABELS, size=3) if "\r" not in label}
    names = sorted(names)
    weighted, separator = rng.random() < 0.5, str(rng.choice([" ", ",", ";", "\t", "|", ", "]))
    all_quoted = rng.random() < 0.3
    lines = []
    for k, name in enumerate(names):
        words = [_quoted_word(end, all_quoted) for end in (name, names[k - 1])]
        lines.append(separator.join([*words, *[str(k + 1)] * weighted]) + "\n")
    Path("graph.edges").write_text("".join(lines), encoding="utf-8")
    try:
        target = _read_graph(TreesOptions(file="graph.edges"))
    except ValueError as error:
        return f"refused: {error}: {lines}"
    found = sorted({end for label in target.labels for end in label[:2]})
    return "" if found == names else f"nodes {found} not {names}: {lines}"


def _quoted_word(name, always):
    plain = re.fullmatch(r"[^,;|\s\"#%]+", name)
    return name if plain and not always else '"' + name.replace('"', '""') + '"'


def run_commands(path, written):
    """Run commands on a file: each succeeds, or ends with one readable line."""
    words = [f"--id={written.options['id']}"] if "id" in written.options else []
    if "header" in written.options:
        words.append("--header" if written.options["header"] else "--no-header")
    for command in (["info"], ["rows", "-k", "2", "--csv"], ["sample", "-n", "2", "--seed", "1"]):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([command[0], str(path), *command[1:], *words])
            except SystemExit as end:
                code = end.code
        said = err.getvalue()
        if code not in (0, 2) or "unexpected" in said or "Traceback" in said:
            return f"{command[0]} ends with {code}: {said}"
        if code == 2 and len([x for x in said.splitlines() if "warning" not in x]) != 1:
            return f"{command[0]} says more than one line: {said}"
    return ""


def run_tables(count, seed, keep):
    """Write and read so many tables; return the number of failures."""
    failures = 0
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        written = make_table(rng)
        wrong = check(written)
        odd = check_graph(rng)
        if odd:
            failures += 1
            print(f"graph {number}: {odd}", flush=True)
        if wrong:
            failures += 1
            path = keep / f"table-{number}-{written.name}"
            path.write_bytes(written.data)
            print(f"{path}: {written.options}: {wrong}", flush=True)
    print(f"{count} tables, {failures} failures")
    return failures
