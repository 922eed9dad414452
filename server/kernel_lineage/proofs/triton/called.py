"""One call of a function of `triton.language`, with its arguments read."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_lineage.proofs.triton.expressions import Expressions
from kernel_lineage.proofs.triton.scope import Scope
from kernel_lineage.proofs.triton.values import Value


@dataclass(frozen=True, slots=True)
class Called:
    """One call with its arguments read."""

    at: Expressions
    node: ast.Call
    name: str
    listed: Sequence[Value]
    named: Mapping[str, Value]

    def argument(self, position: int, name: str) -> Value | None:
        """An argument by its position or name."""
        return self.listed[position] if position < len(self.listed) else self.named.get(name)

    def arguments(self, names: Sequence[str]) -> dict[str, Value]:
        """The arguments by these names, in their order."""
        return {**dict(zip(names, self.listed, strict=False)), **self.named}

    @property
    def scope(self) -> Scope:
        """Where it stands."""
        return self.at.scope
