"""Engines: from a model to responses, behind one protocol."""

from grounding_rewards.engines.named import engine
from grounding_rewards.engines.protocol import Answer, Engine, Reply, Request, Running, Sampling

__all__ = ["Answer", "Engine", "Reply", "Request", "Running", "Sampling", "engine"]
