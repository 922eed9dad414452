"""Deterministic rewrites, one file each."""
