"""What the names of host code around a launch stand for, by the kernel's own names and the launch's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.kernels.words import WORD

_IDENTIFIER = re.compile(r"(?<![\w.:])(?!\d)\w+(?!\w|\s*\(|::)")
_ARITHMETIC = re.compile(r"[\w\s+*/%().<>=!&|-]+")
_CALL = re.compile(r"\w\s*\(")
_CAST = re.compile(
    r"static_cast<[\w:\s]+>\s*(?=\()|\(\s*(?:unsigned |long )*(?:u?int\d*(?:_t)?|size_t|long|unsigned)\s*\)"
)
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class LaunchNames:
    """The names that a condition on a launch may speak of, and what other names of its host code are in them."""

    names: frozenset[str]
    """The kernel's parameters, what its launches pass, and the sizes that their grids are worked out from."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """Other names → an expression."""
    templates: frozenset[str] = frozenset()
    """Those of `names` that are template parameters: host code chooses by them among instances, all of them right."""

    def resolved(self, expr: str, depth: int = _DEPTH) -> str:
        """An expression of host code with every name put by what it stands for; names without a meaning stay."""

        def meaning(match: re.Match[str]) -> str:
            value = self.meanings.get(match[0])
            if value is None or depth == 0:
                return match[0]
            inner = self.resolved(value, depth - 1)
            return inner if re.fullmatch(r"[\w.]+", inner) else f"({inner})"

        return _IDENTIFIER.sub(meaning, _CAST.sub("", expr))


def launch_names(kernel: Kernel, constants: Mapping[str, str]) -> LaunchNames:
    """The names around a kernel's launches. What two launches give different meanings has none."""
    parameters = {p.name for p in kernel.parameters} | {p.name for p in kernel.template_parameters}
    passed = {n for launch in kernel.launches for a in launch.arguments for n in WORD.findall(a)}
    meanings = {name: value for name, value in constants.items() if name not in parameters}
    meanings |= _of_one_meaning(_definitions(launch) for launch in kernel.launches)
    meanings |= _of_one_meaning(_places(kernel, launch) for launch in kernel.launches)
    meanings = {name: value for name, value in meanings.items() if name not in parameters}
    sizes = {
        n
        for launch in kernel.launches
        for size in launch.grid
        for n in _IDENTIFIER.findall(LaunchNames(frozenset(), launch.definitions).resolved(size))
    }
    templates = frozenset(p.name for p in kernel.template_parameters)
    return LaunchNames(frozenset((parameters | passed | sizes) - meanings.keys()), meanings, templates)


def _definitions(launch: Launch) -> dict[str, str]:
    """The local names of a launch that are arithmetic over others."""
    return {
        name: value
        for name, value in launch.definitions.items()
        if name not in launch.unsettled
        and _ARITHMETIC.fullmatch(_CAST.sub("", value))
        and not _CALL.search(value)
    }


def _places(kernel: Kernel, launch: Launch) -> dict[str, str]:
    """The names that are the launch's sizes, or that are passed for a parameter of another name."""
    pairs = zip(kernel.parameters, launch.arguments, strict=False)
    places = {argument: parameter.name for parameter, argument in pairs if argument.isidentifier()}
    for what, sizes in (("grid", launch.grid), ("block", launch.block)):
        for axis, size in zip("xyz", sizes, strict=False):
            if size.isidentifier():
                places.setdefault(size, f"launch.{what}.{axis}")
    return {name: meaning for name, meaning in places.items() if name != meaning}


def _of_one_meaning(each: Iterable[Mapping[str, str]]) -> dict[str, str]:
    meanings: dict[str, set[str]] = {}
    for one in each:
        for name, value in one.items():
            meanings.setdefault(name, set()).add(value)
    return {name: next(iter(values)) for name, values in meanings.items() if len(values) == 1}
