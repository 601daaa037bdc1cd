"""envguard records the environment of a known-good run, verifies it, names what differs, and rebuilds it."""

__version__ = "0.1.0"
