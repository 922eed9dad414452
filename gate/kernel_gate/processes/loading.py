"""Modules loaded without looking for garbage among them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """For the imports of a process that starts. Thousands of classes and functions are made and none is garbage:
    looking for some takes a seventh of the time, and later a part of each search.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
