"""The command line: first rows without a value, long results, and messages about numbers."""

from pathlib import Path

import pytest


@pytest.mark.parametrize("first", ['""\n', ",\n", "NA,\n"])
def test_a_first_row_of_empty_cells_is_a_row(call, first):
    width = first.count(",") + 1
    rows = "".join(",".join([f"{k}.5"] * width) + "\n" for k in range(5))
    Path("x.csv").write_text(first + rows)
    words = ("x.csv", "--no-header", "-n", 1, "--seed", 1)
    code, _, err = call("sample", *words)
    assert code == 2
    assert "row 0" in err
    if width == 1:
        code, out, _ = call("sample", *words, "--missing", "median", "--csv")
        assert code == 0
        out = call("info", "x.csv", "--no-header")[1]
        assert "6" in out.split()
