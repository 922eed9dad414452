"""Every test does the same on every machine: generated cases are drawn alike, and none may fail for being slow."""

from hypothesis import settings

settings.register_profile("alike", derandomize=True, deadline=None)
settings.load_profile("alike")
