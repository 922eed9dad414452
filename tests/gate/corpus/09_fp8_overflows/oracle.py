"""Scaling in float64; what a float8 makes of it is the gate's to say."""


def scaled(x, scale, **_):
    return x * scale
