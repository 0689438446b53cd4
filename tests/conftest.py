"""The suite asserts no timing: no example of hypothesis is too slow, on a machine under load too."""

from hypothesis import HealthCheck, settings

settings.register_profile("suite", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
