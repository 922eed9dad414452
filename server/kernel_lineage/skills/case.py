"""A skill's case: a small kernel file, and in its first comment lines what is to be taken as known.

    // facts: C = 770 | 768, align(x) = 16      facts in the kernel's own names
    // because: C % 4 == 0                      a refusing case: the condition that fails, or `no anchor`
    // kernel: scale_rows                       when the file has more than one

Python files write `#` for `//`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.stated import StatedFactError, stated_facts

NO_ANCHOR = "no anchor"
_HEADER = re.compile(r"^(?://|#)\s*(facts|because|kernel):\s*(.*?)\s*$")


class CaseError(Exception):
    """A case that cannot be used; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case as read."""

    kernel: Kernel
    facts: Facts
    because: str | None


def read_case(path: Path) -> Case:
    """The kernel and the facts of a case. Raises `CaseError`; a case must be whole code, without a reading problem."""
    try:
        data = read_file(path)
    except OSError as error:
        raise CaseError(f"cannot be read ({error.strerror})") from None
    fields: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        if not line.startswith(("//", "#")):
            break
        if header := _HEADER.match(line):
            fields[header[1]] = header[2]
    language = language_of(path.name, data)
    if language is None:
        raise CaseError("is neither a .cu file nor a .py file with a @triton.jit function")
    source = read(data, language)
    if source.problems:
        raise CaseError(source.problems[0].message)
    if "kernel" in fields:
        kernel = source.kernel(fields["kernel"])
    else:
        kernel = source.kernels[0] if len(source.kernels) == 1 else None
    if kernel is None:
        names = ", ".join(k.name for k in source.kernels) or "none"
        raise CaseError(f"has the kernels: {names}; name one in a first line `kernel: …`")
    try:
        facts = stated_facts(fields.get("facts", ""), "stated in the case")
    except StatedFactError as error:
        raise CaseError(f"facts: {error}") from None
    return Case(kernel, facts, fields.get("because"))
