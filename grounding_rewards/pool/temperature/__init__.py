"""The highest temperature at which a policy's accuracy has not collapsed."""

from grounding_rewards.pool.temperature.sweeping import AtTemperature, Sweep, highest, sweep

__all__ = ["AtTemperature", "Sweep", "highest", "sweep"]
