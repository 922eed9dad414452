"""Integers that are read from memory: what is known of them, and when they are the same."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_gate.expr.polynomials import normal
from kernel_gate.expr.terms import Num, Term, Var, variables
from kernel_lineage.code.integers import Site
from kernel_lineage.code.setting import BufferSetting, Setting
from kernel_lineage.code.values import INTEGERS, Int, IntType, Pointer, between, unknown


@dataclass(frozen=True, slots=True)
class Load:
    """A place in the code that reads memory."""

    site: Site
    setting: Setting
    shape: tuple[Term, ...] = ()
    """The extents of a block that is read."""

    @property
    def reason(self) -> str:
        """Why what is read is not known."""
        return f"the value of `{self.site.text}` (line {self.site.line}) is data"

    def integer(
        self, at: Pointer, type_: IntType, depends: tuple[Term, ...] | None = None, member: str = ""
    ) -> Int:
        """The integer at an address, a `member` of what is read; what an input holds is the same at each read."""
        buffer = self.setting.buffers.get(at.root) if at.space == "global" else None
        if buffer is None or not buffer.is_input:
            return self._unknown(type_, depends)
        model = self.site.model
        place = (at.root, normal(at.offset), type_, self.shape)
        if place not in model.read:
            stated = _stated(buffer, type_)
            value = (
                between(model, f"{at.root}[…]", *stated, type_, depends)
                if stated is not None
                else self._unknown(type_, depends)
            )
            (model.read[place],) = variables(value.term)
            if stated is not None or (buffer.has_any and INTEGERS[buffer.dtype].bits == type_.bits):
                model.loads[model.read[place]] = f"{self.site.text}{member}"
        return Int(Var(model.read[place]), type_)

    def _unknown(self, type_: IntType, depends: tuple[Term, ...] | None) -> Int:
        return unknown(self.site.model, "loaded", type_, self.reason, depends)


def _stated(buffer: BufferSetting, type_: IntType) -> tuple[Term, Term] | None:
    """The limits of a buffer's integers that are read as a type, where the workload states them."""
    stored = INTEGERS.get(buffer.dtype)
    if buffer.values is None or stored is None or stored.bits != type_.bits:
        return None
    least = buffer.values[0]
    same = stored == type_ or (isinstance(least, Num) and least.value >= 0)
    return buffer.values if same else None
