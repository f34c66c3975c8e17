"""Tables of pandas, polars, Arrow and paths: the same rows, and the same kind comes back."""

import numpy as np
import pytest

from zonodpp import Design
from zonodpp.apps import LandmarkSelector, deduplicate, diverse_rows, next_batch, rows

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("narwhals")

RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])
MIXED = NUMBERS.assign(kind=list("wxyyyyzzzzzz") * 5)


def kinds(frame, folder):
    """Yield the same table in other libraries and files."""
    yield pa.Table.from_pandas(frame, preserve_index=False)
    polars = pytest.importorskip("polars")
    yield polars.from_pandas(frame)
    yield polars.from_pandas(frame).lazy()
    frame.to_parquet(folder / "table.parquet")
    yield folder / "table.parquet"
    yield str(folder / "table.parquet")
    frame.to_csv(folder / "table.csv", index=False)
    yield folder / "table.csv"
    frame.to_feather(folder / "table.feather")
    yield folder / "table.feather"


def as_frame(table):
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    return frame.reset_index(drop=True)


def test_diverse_rows_of_the_same_kind(tmp_path):
    expected = diverse_rows(MIXED, 8).reset_index(drop=True)
    for table in kinds(MIXED, tmp_path):
        found = diverse_rows(table, 8)
        pd.testing.assert_frame_equal(as_frame(found), expected, check_dtype=False)
        if isinstance(table, pa.Table):
            assert isinstance(found, pa.Table)
        elif type(table).__module__.startswith("polars"):
            assert type(found).__module__.startswith("polars")


def test_other_calls_take_the_same_tables(tmp_path):
    selector = LandmarkSelector(5, random_state=0).fit(NUMBERS)
    batch, kept = next_batch(NUMBERS, 5), deduplicate(NUMBERS).indices
    log_prob = Design(NUMBERS.to_numpy(), 6).log_prob([0, 1, 2, 3, 4, 5])
    for table in kinds(NUMBERS, tmp_path):
        np.testing.assert_array_equal(deduplicate(table).indices, kept)
        if isinstance(table, pa.Table) or type(table).__name__ == "DataFrame":
            np.testing.assert_array_equal(next_batch(table, 5), batch)
            found = LandmarkSelector(5, random_state=0).fit(table)
            np.testing.assert_array_equal(found.indices_, selector.indices_)
            assert Design(table, 6).log_prob([0, 1, 2, 3, 4, 5]) == pytest.approx(log_prob)


def test_rows_within_strata():
    found = diverse_rows(MIXED, 12, by="kind")
    assert found["kind"].value_counts().to_dict() == {"z": 6, "y": 4, "x": 1, "w": 1}
    few = diverse_rows(MIXED, 3, by="kind", answer="draw", rng=0)
    assert sorted(few["kind"]) == ["x", "y", "z"] or sorted(few["kind"]) == ["w", "y", "z"]
    assert len(diverse_rows(MIXED, 60, by="kind")) == 60
    within = MIXED[MIXED["kind"] == "z"]
    alone = diverse_rows(MIXED, 6, by="kind", weights=(MIXED["kind"] == "z").astype(float))
    assert set(alone.index) <= set(within.index)
    with pytest.raises(ValueError, match="by='colour' is no column of the table"):
        diverse_rows(MIXED, 3, by="colour")


def test_a_column_of_lists_counts_as_one():
    table = pd.DataFrame(
        {"embedding": list(RNG.normal(size=(50, 20))), "size": RNG.normal(size=50)}
    )
    found = rows.encode(table)
    assert [(c.name, c.kind, c.width) for c in found.columns] == [
        ("embedding", "vector", 20),
        ("size", "number", 1),
    ]
    spread = found.points.var(axis=0)
    assert spread[:20].sum() == pytest.approx(spread[20])
    assert len(diverse_rows(table, 30)) == 30


def test_large_tables_are_picked_one_by_one(monkeypatch):
    searched = diverse_rows(NUMBERS, 12)
    monkeypatch.setattr(rows, "_MANY", 50)
    found = diverse_rows(NUMBERS, 12)
    assert len(set(found.index)) == 12
    assert len(set(found.index) & set(searched.index)) >= 6
    weights = np.ones(60)
    weights[:30] = 0
    assert (diverse_rows(NUMBERS, 12, weights=weights).index >= 30).all()


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(TypeError, match="table must be a table of pandas, polars or Arrow"):
        diverse_rows(np.eye(3), 2)
    with pytest.raises(ValueError, match="must be a file that ends in"):
        diverse_rows("table.xyz", 2)
