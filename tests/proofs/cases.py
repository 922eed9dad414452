"""Small kernels in a workload, for tests of proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kernel_gate.workload import Workload
from kernel_lineage.proofs.obligations.obligation import Obligation
from kernel_lineage.proofs.prove import Kinds
from kernel_lineage.rewrite.proving.prove import launches_of_file, prove_file, proving


@dataclass(frozen=True)
class Case:
    """A kernel `k` with its arguments: `out: N*C`, `x: N*C` as shapes, and a scalar for each dimension."""

    source: str
    dims: Mapping[str, int]
    outputs: Mapping[str, Sequence[str]]
    inputs: Mapping[str, Sequence[str]]
    grid: Sequence[str | int]
    block: Sequence[str | int]
    promises: Sequence[str] = ()
    shared_bytes: str | int = 0
    integers: Mapping[str, str] = field(default_factory=dict)
    """Inputs of integers, with their `values`."""
    dtypes: Mapping[str, str] = field(default_factory=dict)
    """Those of the integers that are not int32."""
    align: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Scalars behind the dimensions, with their values as expressions."""
    constexpr: Mapping[str, str | int] = field(default_factory=dict)
    language: Literal["cuda", "triton"] = "cuda"

    def workload(self) -> Workload:
        """The workload; arguments are outputs, inputs, the dimensions, then other numbers."""
        args = []
        for kind, buffers in (("output", self.outputs), ("input", self.inputs)):
            for name, shape in buffers.items():
                argument = {"name": name, "kind": kind, "dtype": "float32", "shape": list(shape)}
                if name in self.integers:
                    argument |= {"dtype": self.dtypes.get(name, "int32"), "values": self.integers[name]}
                if name in self.align:
                    argument["align"] = self.align[name]
                args.append(argument)
        scalars = {**{d: d for d in self.dims}, **self.numbers}
        args += [{"name": n, "kind": "scalar", "dtype": "int32", "value": v} for n, v in scalars.items()]
        launch = {"grid": list(self.grid), "block": list(self.block), "shared_bytes": self.shared_bytes}
        if self.constexpr:
            launch["constexpr"] = dict(self.constexpr)
        return Workload.model_validate(
            {
                "kernel": "k",
                "language": self.language,
                "dims": dict(self.dims),
                "promises": list(self.promises),
                "args": args,
                "launch": launch,
            }
        )

    def obligations(self, folder: Path, *, replayed: bool = True) -> tuple[Obligation, ...]:
        """What is proved and refuted of it."""
        return prove_file(self._written(folder), "k", self.workload(), replayed=replayed)

    def of_kinds(self, folder: Path, kinds: Kinds) -> tuple[Obligation, ...]:
        """The same of some kinds, confirmed, each access on several paths by itself."""
        path = self._written(folder)
        (launched,) = launches_of_file(path, "k", self.workload())
        return tuple(proving(launched, path, kinds=kinds))

    def _written(self, folder: Path) -> Path:
        path = folder / ("k.cu" if self.language == "cuda" else "k.py")
        path.write_text(self.source)
        return path


def statuses(obligations: Sequence[Obligation], kind: str) -> dict[str, str]:
    """Expression → how it ended, of one kind."""
    return {o.expression: o.status.value for o in obligations if o.kind == kind}
