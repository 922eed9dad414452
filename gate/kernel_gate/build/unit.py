"""A unit of building: what one image of a program depends on besides its source."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_gate.compile_time import Constant
from kernel_gate.program import Program


def extent_name(name: str, axis: int) -> str:
    """What the extent of a descriptor's buffer is called among the arguments."""
    return f"{name}__extent_{axis}"


@dataclass(frozen=True, slots=True)
class Unit:
    """One image. CUDA programs have one unit per kernel and compiled sizes; Triton ones one per specialisation."""

    constexpr: tuple[tuple[str, Constant], ...] = ()
    """Triton: values of the `tl.constexpr` parameters, and None for those that the launch gives nothing. CUDA: of
    macros and constants of the source."""
    num_warps: int = 4
    num_stages: int = 3
    arguments: tuple[tuple[str, str], ...] = ()
    """Triton: the workload's arguments in the kernel's order, with Triton's types: ("x", "*fp32")."""
    divisible: tuple[str, ...] = ()
    """Triton: arguments whose value or address is a multiple of 16, as its launcher would find."""
    ones: tuple[str, ...] = ()
    """Triton: integer arguments that are 1, which its launcher makes constants."""
    entry: str = ""
    """The kernel; "" is the program's `entry` with its template arguments."""
    template_arguments: tuple[str, ...] = ()
    """CUDA: of `entry`, unless that is ""."""
    descriptors: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Triton: arguments that are tensor descriptors, and their blocks; `arguments` has each buffer and its extents."""
    by_position: bool = False
    """Triton: the arguments are in the kernel's order, whatever their names."""

    def expression(self, program: Program) -> str:
        """The kernel as C++ names it: `layernorm<float, 4>`."""
        entry = self.entry or program.entry
        template_arguments = self.template_arguments if self.entry else program.template_arguments
        return f"{entry}<{', '.join(template_arguments)}>" if template_arguments else entry
