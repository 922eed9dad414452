"""A unit of building: what one image of a program depends on besides its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """One image. CUDA programs have one unit; Triton ones have one per specialisation."""

    constexpr: tuple[tuple[str, int | float | bool], ...] = ()
    """Triton: values of the `tl.constexpr` parameters."""
    num_warps: int = 4
    num_stages: int = 3
    arguments: tuple[tuple[str, str], ...] = ()
    """Triton: the workload's arguments in the kernel's order, with Triton's types: ("x", "*fp32")."""
    divisible: tuple[str, ...] = ()
    """Triton: arguments whose value or address is a multiple of 16, as its launcher would find."""
    ones: tuple[str, ...] = ()
    """Triton: integer arguments that are 1, which its launcher makes constants."""
