"""What a script is given on its command line when nobody says anything: the defaults of `argparse`."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_lineage.workloads.triton.objects import Instance
from kernel_lineage.workloads.triton.values import Unknown

_PARSERS = frozenset({"argparse.ArgumentParser", "ArgumentParser"})


def command_line(name: str) -> Instance | None:
    """The parser that a call of this name makes; None for other calls."""
    return Instance("ArgumentParser") if name in _PARSERS else None


def declare_option(
    parser: Instance, name: str, arguments: list[object], named: Mapping[str, object]
) -> object:
    """What a method of a parser gives; an option that is declared has its default."""
    match name:
        case "add_argument":
            names = [g for g in arguments if isinstance(g, str)]
            dest = named.get("dest") or max(names, key=len, default="").lstrip("-").replace("-", "_")
            parser.attributes[str(dest)] = _default(named)
            return None
        case "add_argument_group" | "add_mutually_exclusive_group":
            return parser
        case "parse_args":
            return Instance("Namespace", parser.attributes)
        case "parse_known_args":
            return (Instance("Namespace", parser.attributes), [])
        case "set_defaults":
            parser.attributes.update(named)
            return None
    return Unknown(f"a parser's .{name}(…)")


def _default(named: Mapping[str, object]) -> object:
    if "default" in named:
        return named["default"]
    if named.get("action") in ("store_true", "store_false"):
        return named["action"] == "store_false"
    choices = named.get("choices")
    return choices[0] if isinstance(choices, (list, tuple)) and choices else None
