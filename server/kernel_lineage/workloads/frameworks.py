"""C++ files that are programs: with a `main`, or with tests that a framework has a `main` for."""

from __future__ import annotations

import re

_MAIN = re.compile(r"\bmain\s*\(")
_TESTS = re.compile(r"#\s*include\s*[<\"](?:gtest/|catch2/|catch\.hpp|doctest)")
"""How a text includes a framework of tests that stands in the recorder's runtime."""


def has_main(text: str) -> bool:
    """Whether a text has a `main`."""
    return _MAIN.search(text) is not None


def is_program(text: str) -> bool:
    """Whether a text has a `main`, or tests of GoogleTest, Catch2 or doctest."""
    return has_main(text) or _TESTS.search(text) is not None


def as_program(text: str) -> str:
    """A text with a `main`: that of tests which have none runs them all. As it is where it is no program."""
    if has_main(text) or not is_program(text):
        return text
    return f"{text}\nint main() {{ return ::klineage::run_tests(); }}\n"
