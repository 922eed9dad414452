"""The options that say how long each part of a verdict may take."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import click

from kernel_gate.options import GateOptions

_LIMITS = {
    "build_seconds": "For compiling one program.",
    "check_seconds": "For the check of all cases.",
    "watch_seconds": "Beside a GPU, for the emulated device to watch the same cases; 0: it does not watch.",
    "algebra_seconds": "For asking whether both programs compute the same expression; 0: not asked.",
    "callers_seconds": "Without a GPU, of a processor, for shapes as large as the callers'; 0: none.",
    "launch_seconds": "What a launch on a GPU may take before it counts as hanging.",
    "profile_seconds": "For timing one shape; it ends sooner when the answer is clear.",
}
"""By the field of `GateOptions`, which has the default."""
_MAY_BE_NONE = ("algebra_seconds", "callers_seconds", "watch_seconds")


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; `take_limits` takes their values."""
    for name, about in reversed(_LIMITS.items()):
        command = click.option(
            f"--{name.replace('_', '-')}",
            name,
            type=click.FloatRange(min=0, min_open=name not in _MAY_BE_NONE),
            default=GateOptions.model_fields[name].default,
            show_default=True,
            help=about,
        )(command)
    return command


def take_limits(values: MutableMapping[str, Any]) -> dict[str, float]:
    """The limits, taken out of a command's other values, as fields of `GateOptions`."""
    return {name: values.pop(name) for name in _LIMITS}
