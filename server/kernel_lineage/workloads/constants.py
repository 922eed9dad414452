"""Constants of a file, and the block sizes that its launches come to."""

from __future__ import annotations

import re

from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.preprocessed import active_text
from kernel_lineage.workloads.type_sizes import alias_sizes, struct_constants


def block_threads(launch: Launch) -> int | None:
    """Threads in a block of a CUDA launch, if the file tells."""
    total = 1
    for extent in launch.block:
        value = constant(extent, launch.definitions)
        if value is None:
            return None
        total *= value
    return total if launch.block else None


_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+([^\n]+?)[ \t]*(?://[^\n]*)?$", re.MULTILINE
)
_CONSTANT = re.compile(r"\b(?:constexpr|const)\s+(?:static\s+|unsigned\s+)*(?:int|unsigned|size_t|uint32_t|int32_t)\s+"
                       r"([A-Za-z_]\w*)\s*=\s*([^;,]+)[;,]")  # fmt: skip


def constants_of(kernel: Kernel) -> dict[str, str]:
    """Macros and constants of the kernel's file, by name; a name that is given two meanings is left out.

    A struct's constants are among them, `x128::size` as `x128size`, and bytes of aliases, `sizeof_floatX`.
    """
    text = kernel.source.data.decode("utf-8", "replace") if kernel.source else kernel.text
    found: dict[str, set[str]] = {}
    for match in (*_DEFINE.finditer(text), *_CONSTANT.finditer(text)):
        found.setdefault(match[1], set()).add(match[2].strip())
    known = {name: values.pop() for name, values in found.items() if len(values) == 1}
    active = active_text(text)
    return {**alias_sizes(active), **struct_constants(active), **known}
