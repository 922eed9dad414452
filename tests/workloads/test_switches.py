"""Which options a kernel needs to be there at all."""

from __future__ import annotations

import pytest

from kernel_lineage.workloads.switches import switches_for

KERNEL = "__global__ void k(float* x) { x[0] = 1; }\n"


@pytest.mark.parametrize(
    ("text", "switches"),
    [
        (KERNEL, {}),
        (f"#ifdef ENABLE_X\n{KERNEL}#endif\n", {"ENABLE_X": "1"}),
        (
            f"#if defined(ENABLE_X) // an option\n#ifdef Y\n{KERNEL}#endif\n#endif\n",
            {"ENABLE_X": "1", "Y": "1"},
        ),
        (f"#define ENABLE_X\n#ifdef ENABLE_X\n{KERNEL}#endif\n", {}),
        (f"#ifdef ENABLE_X\n#endif\n{KERNEL}", {}),
        (f"#ifndef X\n#  define X 0\n#endif\n#if X\n{KERNEL}#endif\n", {"X": "1"}),
        (f"#ifndef X\n#define X 4\n#endif\n#if X\n{KERNEL}#endif\n", {}),
        (f"#ifdef ENABLE_X\n#else\n{KERNEL}#endif\n", {}),
        (f"#ifndef PLAIN\n{KERNEL}#endif\n", {}),
        (f"#if CUDART_VERSION >= 12000\n{KERNEL}#endif\n", {}),
        (f"#ifdef ENABLE_X\n{KERNEL}#else\n{KERNEL}#endif\n", {}),
    ],
)
def test_the_macros_around_a_kernel(text: str, switches: dict[str, str]) -> None:
    assert switches_for(text, "k") == switches
