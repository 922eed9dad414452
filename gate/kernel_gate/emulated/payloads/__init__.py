"""Exact arithmetic beside the floats of a launch: each float carries an element of several finite fields."""
