"""Loading without pauses leaves the collector as it was."""

import gc
import weakref

import pytest

from zonodpp._loading import loading, without_collection


class Knot:
    """An object that only the collector can free."""

    def __init__(self):
        self.me = self


@pytest.fixture(autouse=True)
def restored():
    enabled = gc.isenabled()
    yield
    gc.unfreeze()
    (gc.enable if enabled else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_off_meanwhile_and_as_it_was_afterwards(enabled):
    (gc.enable if enabled else gc.disable)()
    with without_collection():
        assert not gc.isenabled()
    assert gc.isenabled() is enabled
    with pytest.raises(ZeroDivisionError), without_collection():
        1 / 0  # noqa: B018
    assert gc.isenabled() is enabled


def test_garbage_made_meanwhile_is_still_collected():
    gc.enable()
    with without_collection():
        gone = weakref.ref(Knot())
    assert gone() is not None
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert gone() is None


def test_what_the_caller_has_frozen_stays_frozen():
    gc.enable()
    gc.freeze()
    count = gc.get_freeze_count()
    with without_collection():
        pass
    assert gc.get_freeze_count() >= count - 10  # objects may be freed by count


def test_the_collector_is_left_alone_once_loaded():
    gc.enable()
    with loading("a made-up name"):
        assert not gc.isenabled()
    with loading("a made-up name"):
        assert gc.isenabled()
