"""Formats of tables: what is read, what a message says of others, and types of what is written."""

import pytest


def test_parquet_columns_without_values(call, fails):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("pandas")
    nothing = arrow.array([None] * 4, arrow.string()).dictionary_encode()
    parquet.write_table(arrow.table({"c": nothing, "v": [1, 2, 3, 9]}), "gaps.parquet")
    assert "left out: empty, 4 missing" in call("info", "gaps.parquet")[1]
    assert "column 'c' (row 0;" in fails("sample", "gaps.parquet", "--id", "v")
    parquet.write_table(arrow.table({"v": arrow.array([], arrow.int64())}), "empty.parquet")
    for command in ("info", "sample", "landmarks", "rows", "volume"):
        assert "empty.parquet has columns but no rows" in fails(command, "empty.parquet")
