"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A shell starts what runs in the background with Ctrl-C ignored, and a process hands that on to those it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first text that hypothesis draws on a new checkout builds tables of all characters, which takes seconds on a slow
# machine: that says nothing about the code.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
