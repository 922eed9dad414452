"""Which tests `make test` runs, and which wait for `make test-long`.

`python tests/longer.py REPORT` lists those that took long in a run, of which REPORT is the JUnit file (`make test
ARGS=--junitxml=REPORT`), in `long_tests.txt` beside those that are listed there.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

LISTED = Path(__file__).parent / "long_tests.txt"
"""Tests by their ids, one in a line, that are `long` by what they were measured to take."""
_LEAST_SECONDS = 1.5
"""With a worker more than processors: about a second of one."""


def listed_as_long() -> frozenset[str]:
    """The ids of the tests that are `long` without a mark in their files."""
    return frozenset(LISTED.read_text("utf-8").splitlines())


def first_now(values: Iterable[Any], count: int = 1) -> list[Any]:
    """The values of a parametrised test: the first `count` as they are, the others marked `long`."""
    listed = list(values)
    return listed[:count] + [_long(value) for value in listed[count:]]


def _long(value: Any) -> Any:
    many = value if isinstance(value, tuple) else (value,)
    return pytest.param(*many, marks=pytest.mark.long)


def _taking_long(report: Path) -> set[str]:
    """The tests of a run that took long, by their ids."""
    ids: set[str] = set()
    for case in ET.parse(report).iter("testcase"):
        parts = case.get("classname", "").split(".")
        file = next(n for n in range(len(parts), 0, -1) if Path(*parts[:n]).with_suffix(".py").is_file())
        if float(case.get("time", 0)) >= _LEAST_SECONDS:
            ids.add("::".join(["/".join(parts[:file]) + ".py", *parts[file:], case.get("name", "")]))
    return ids


if __name__ == "__main__":
    all_ids = listed_as_long() | _taking_long(Path(sys.argv[1]))
    LISTED.write_text("".join(f"{one}\n" for one in sorted(all_ids)), "utf-8")
