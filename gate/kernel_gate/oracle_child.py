"""The oracle's process: `python -m kernel_gate.oracle_child FILE FUNCTION`; one case per line on stdin.

A line is a JSON object with the paths of the inputs (.npz) and of the result to write (.npz). The answer is a line
with `ok`, or with an error to show.
"""

from __future__ import annotations

import errno
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernel_gate.processes.parent import watch_parent


def load_function(path: Path, name: str) -> Callable[..., Any]:
    """The oracle function of a file."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("gate_oracle", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise AttributeError(f"{path.name} has no function `{name}`")
    return function  # type: ignore[no-any-return]


def call(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call with the values that the function's parameters name; all of them when it takes `**`."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return function(**values)
    return function(**{p.name: values[p.name] for p in parameters if p.name in values})


def answer(function: Callable[..., Any], request: Mapping[str, Any]) -> None:
    """Compute one case and write its result."""
    with np.load(request["inputs"], allow_pickle=False) as stored:
        values: dict[str, Any] = {name: stored[name] for name in stored.files}
    values |= request["scalars"]
    with np.errstate(all="ignore"):
        result = call(function, values)
    names: list[str] = request["outputs"]
    if isinstance(result, Mapping):
        named = dict(result)
    elif isinstance(result, (tuple, list)):
        named = dict(zip(names, result, strict=True))
    else:
        named = dict(zip(names, (result,), strict=True))
    results: dict[str, Any] = {name: np.asarray(named[name]) for name in names}
    np.savez(request["result"], **results)


def main(path: Path, name: str) -> None:
    """Answer requests until stdin ends. What the oracle prints goes to stderr."""
    watch_parent(os.getppid())  # an oracle that hangs would not see its stdin close
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    function: Callable[..., Any] | None = None
    for line in sys.stdin:
        try:
            function = function or load_function(path, name)
            answer(function, json.loads(line))
            reply: dict[str, Any] = {"ok": True}
        except OSError as error:
            full = error.errno in {errno.ENOSPC, errno.EDQUOT}
            reply = {"ok": False, "disk_full": full, "error": f"{type(error).__name__}: {error}"}
        except Exception as error:  # noqa: BLE001 - any exception of foreign code is reported
            reply = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
