"""Verdicts for people and for other programs: one file a format, each from a list of named verdicts."""
