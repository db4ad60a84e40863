"""What no test may depend on: how fast a machine is, and who started the tests."""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "lightloom",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault
)
settings.load_profile("lightloom")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Scripts start what runs in the background so, and children would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
