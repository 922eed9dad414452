"""Rules of CONTRIBUTING's *How we write* that a machine can hold."""

import re
from pathlib import Path

TOP = Path(__file__).parent.parent


def test_a_docstring_says_its_subject_first():
    begins = re.compile(r'"""Of\s')
    files = [f for folder in ("server", "gate", "tests", "docs") for f in (TOP / folder).rglob("*.py")]
    assert len(files) > 1000
    places = [
        f"{file.relative_to(TOP)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if begins.search(line) and "re.compile" not in line
    ]
    assert places == []
