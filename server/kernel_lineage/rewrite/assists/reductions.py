"""What a loop reduces its rounds to, and how two threads that took some rounds each become one again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernel_lineage.rewrite.assists.layout import fresh_name


@dataclass(frozen=True, slots=True)
class Reduction:
    """A variable that each round adds to or compares with."""

    name: str
    type: str
    operation: str
    """`+`, `>` or `<` for `if (v > best) { best = v; }`, or the function that chooses."""
    from_zero: bool
    """A sum that is known to begin at zero."""
    carried: tuple[tuple[str, str], ...] = ()
    """Name and type of what is remembered of the round that was chosen, its counter first: `where = c;`."""

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        """Name and type of all that a thread has of it."""
        return ((self.name, self.type), *self.carried)

    def combined(self, value: Callable[[str], str], taken: set[str]) -> list[str]:
        """Statements that take what another thread has of it; `value` says where that has a variable.

        Of equal values the one of the earlier round is kept, as one thread would. Both threads began with the same
        value, and neither chose a round that was not better.
        """
        if self.operation == "+":
            return [f"{self.name} += {value(self.name)};"]
        if self.operation not in (">", "<"):
            return [f"{self.name} = {self.operation}({self.name}, {value(self.name)});"]
        others = {name: fresh_name(f"other_{name}", taken) for name, _ in self.variables}
        declared = [f"const {kind} {others[name]} = {value(name)};" for name, kind in self.variables]
        better = f"{others[self.name]} {self.operation} {self.name}"
        if self.carried:
            first = self.carried[0][0]
            better += f" || ({others[self.name]} == {self.name} && {others[first]} < {first})"
        taking = " ".join(f"{name} = {other};" for name, other in others.items())
        return [*declared, f"if ({better}) {{ {taking} }}"]
