"""Queries that an exception stops at whatever moment it comes, and calls that others wait for."""

from __future__ import annotations

import threading
import time

import duckdb
import pytest

from grounding_rewards.tables.interrupting import ahead, behind, interruptible

LONG = "SELECT count(*) FROM range(100000000000) a WHERE a.range % 3 = 1"


class Stop(BaseException):
    """Interruption by a signal."""


def test_what_a_query_returns_and_raises():
    connection = duckdb.connect()
    assert interruptible(connection, lambda sql: connection.sql(sql).fetchall(), "SELECT 41 + 1") == [(42,)]
    with pytest.raises(duckdb.Error, match="nowhere"):
        interruptible(connection, connection.execute, "SELECT * FROM nowhere")


@pytest.mark.parametrize("moment", ["started", "waiting"])
def test_an_exception_stops_the_query(monkeypatch, moment):
    connection = duckdb.connect()
    thread = threading.Thread

    class Stopped(thread):
        def start(self):
            super().start()
            raise Stop

    class Waiting(thread):
        def start(self):
            super().start()
            time.sleep(0.2)
            raise Stop

    monkeypatch.setattr("grounding_rewards.tables.interrupting.Thread", Stopped if moment == "started" else Waiting)
    with pytest.raises(Stop):
        interruptible(connection, connection.execute, LONG)
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_the_last_call_is_waited_for_and_its_error_raised():
    def slow(item):
        time.sleep(0.05)
        done.append(item)
        if item == "bad":
            raise ValueError(item)

    def called(*items, then=None):
        with behind(slow) as call:
            for item in items:
                call(item)
            if then:
                raise then

    done = list[str]()
    with pytest.raises(ValueError, match="bad"):
        called("one", "bad")
    with pytest.raises(Stop):
        called("two", then=Stop)
    assert done == ["one", "bad", "two"]


def test_an_item_that_is_being_made_is_waited_for_and_its_error_raised():
    def slow():
        yield 1
        time.sleep(0.05)
        made.append(2)
        yield 2
        raise ValueError("no third")

    made, items = list[int](), ahead(slow())
    assert next(items) == 1
    items.close()
    assert made == [2]
    with pytest.raises(ValueError, match="no third"):
        list(ahead(slow()))
