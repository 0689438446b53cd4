"""Oracles of AgentFly."""

from __future__ import annotations

from tests.golden.departures.oracle import bad_target

ORACLES = (bad_target("agentfly"),)
