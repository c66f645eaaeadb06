import signal

from hypothesis import settings

# A loaded machine makes examples slow without making them wrong.
settings.register_profile("zoo", deadline=None)
settings.load_profile("zoo")


def pytest_configure() -> None:
    """A shell's background job has it ignored, and so would all that is started here."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
