"""Pairs of classes that no other set has: a second axis, identities, NaN and zeros, state, order of blocks."""
