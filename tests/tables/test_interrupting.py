"""Queries that an exception stops at whatever moment it comes."""

from __future__ import annotations

import threading
import time

import duckdb
import pytest

from grounding_rewards.tables.interrupting import interruptible

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
