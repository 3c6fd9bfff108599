"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The first text that hypothesis draws on a new checkout builds tables of all characters, which takes seconds on a slow
# machine: that says nothing about the code.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
