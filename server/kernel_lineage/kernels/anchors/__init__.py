"""Anchor patterns, one file each."""
