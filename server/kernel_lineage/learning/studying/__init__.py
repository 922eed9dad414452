"""Replayed steps → what they teach: their parts, the conditions of each, and the skills that come of them."""
