"""The kernels that a source seems to have, for messages about one that it does not have."""

from __future__ import annotations

import difflib
import re

from kernel_gate.program import Program

_CUDA = re.compile(r"__global__\b[^;{}()]*?\b(\w+)\s*\(")
_BOUNDS = re.compile(r"__(?:launch_bounds|cluster_dims|maxnreg)__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_TRITON = re.compile(r"^@[\w.]*\bjit\b.*\n(?:@.*\n)*def\s+(\w+)", re.MULTILINE)
_MOST = 5


def kernels_of(program: Program) -> list[str]:
    """Names in the order of the source; found in its text, so that broken code has some too."""
    if program.language == "triton":
        return list(dict.fromkeys(_TRITON.findall(program.source)))
    return list(dict.fromkeys(_CUDA.findall(_BOUNDS.sub(" ", program.source))))


def near_names(program: Program, wanted: str) -> str:
    """`; it has layernorm_forward, softmax`, the nearest names first; "" when it has no kernel at all."""
    kernels = kernels_of(program)
    if not kernels:
        return "; it has no kernel"
    bare = wanted.rsplit("::", 1)[-1].partition("<")[0]
    if bare in kernels:
        needs = "its namespace, its template's arguments, or what the `#if` around it asks for"
        return f"; its text has one, which needs {needs}"
    near = difflib.get_close_matches(bare, kernels, n=3, cutoff=0.5)
    ordered = list(dict.fromkeys([*near, *kernels]))
    more = f" and {len(ordered) - _MOST} more" if len(ordered) > _MOST else ""
    return f"; it has {', '.join(ordered[:_MOST])}{more}"
