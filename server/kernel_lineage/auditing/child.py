"""The contained process of modules: `python -m kernel_lineage.auditing.child`; a request per line on stdin.

A request is answered by a line with its value or with an error. In between, the process asks for what it cannot do
itself: a line with a launch or with a call of a host function, which is answered with what they give.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import traceback
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from kernel_gate.processes.parent import watch_parent
from kernel_lineage.auditing.messages import decoded, encoded
from kernel_lineage.auditing.modules import Module
from kernel_lineage.auditing.stand_in import World, install
from kernel_lineage.auditing.tensors import NotEvaluableError, Tensor
from kernel_lineage.auditing.torch_values import TooLargeError, Torch

_FILE = "<module>"
MAKERS = ("get_inputs", "get_init_inputs")
"""The functions of a module that make what its model is given."""


class Session:
    """The modules of one process."""

    def __init__(self, replies: IO[str]) -> None:
        self._torch = Torch(np.random.default_rng(0), exact=False)
        self._replies = replies
        self._names: dict[str, Any] = {}
        self._failed: dict[str, str] = {}
        self._model: Any = None
        install(World(self._torch, self._run))

    def _run(self, request: Mapping[str, Any]) -> Any:
        """Have a launch or a host function run; the tensors that it was given hold what it left in them."""
        arguments = [*request["args"], *request.get("kwargs", {}).values()]
        self.say({k: encoded(v) for k, v in request.items()})
        reply = json.loads(sys.stdin.readline())
        if "too_large" in reply:
            raise TooLargeError(reply["too_large"])
        for tensor, after in zip(arguments, decoded(reply["after"]), strict=True):
            if isinstance(tensor, Tensor) and isinstance(after, Tensor):
                _rewrite(tensor, after)
        same = reply["same"]  # what it gives may be one of its arguments
        return arguments[same] if same is not None else decoded(reply["value"])

    def say(self, message: Mapping[str, Any]) -> None:
        """Write a line."""
        self._replies.write(json.dumps(message) + "\n")
        self._replies.flush()

    def answer(self, request: Mapping[str, Any]) -> Any:
        """What a request asks for."""
        NotEvaluableError.noted = []
        self._torch.exact, self._torch.most = request["exact"], request["most"]
        if "seed" in request:
            self._torch.rng = np.random.default_rng(request["seed"])
        match request["do"]:
            case "read":
                self._read(request["text"], request["sizes"], request["numbers"])
                return None
            case "call":
                return self._names_of(request["name"])()
            case "build":
                self._model = self._names_of(request["name"])(*decoded(request["args"]))
                return dict(Module.named_parameters(self._model))
            case "set":
                own = dict(Module.named_parameters(self._model))
                for name, tensor in decoded(request["values"]).items():
                    own[name].values[...] = tensor.values
                return None
            case "forward":
                arguments = decoded(request["args"])
                made = self._model.forward(*arguments)
                return [made if isinstance(made, list | tuple) else [made], arguments]
        raise ValueError(request["do"])

    def _read(self, text: str, sizes: Mapping[str, int], numbers: Mapping[str, int]) -> None:
        """Run a module's statements; what one that fails would have bound fails when it is used.

        `sizes` replaces whole numbers that the module names, `numbers` those that stand where it makes inputs.
        """
        self._names = {"__name__": "submission", "__file__": _FILE}
        self._failed = {}
        for statement in ast.parse(text).body:
            for node in ast.walk(statement) if getattr(statement, "name", "") in MAKERS else ():
                if isinstance(node, ast.Constant) and type(node.value) is int:
                    node.value = numbers.get(str(node.value), node.value)
            try:
                exec(compile(ast.Module([statement], []), _FILE, "exec"), self._names)  # noqa: S102 - contained
            except Exception as error:  # noqa: BLE001 - whatever foreign code raises
                bound = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)]
                self._failed |= dict.fromkeys(
                    [*bound, getattr(statement, "name", "")], said_of(error, statement.lineno)
                )
            NotEvaluableError.noted = []
            self._names |= {k: v for k, v in sizes.items() if k in self._names}

    def _names_of(self, name: str) -> Any:
        if name in self._names:
            return self._names[name]
        raise NotEvaluableError(self._failed.get(name, f"the module has no {name}"))

    def why(self, error: Exception) -> str:
        """What an error says; of a name that a statement did not come to bind, what that statement's error said."""
        if isinstance(error, NameError) and error.name in self._failed:
            return self._failed[error.name]
        return said_of(error)


def _rewrite(tensor: Tensor, after: Tensor) -> None:
    """Give a tensor's memory what a launch left in it. Raises `NotEvaluableError` for a copy that stands for a view."""
    memory, left = tensor.memory(), after.memory()
    if memory.flags.writeable:
        memory[...] = left
    elif not np.array_equal(memory, left, equal_nan=memory.dtype.kind == "f"):
        raise NotEvaluableError("a kernel writes to a tensor that is seen as another type")


def said_of(error: Exception, line: int = 0) -> str:
    """An error with the module's line that raised it."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == _FILE and f.lineno]
    kind = "" if isinstance(error, NotEvaluableError) else f"{type(error).__name__}: "
    at = lines[-1] if lines else line
    return f"line {at}: {kind}{error}" if at else f"{kind}{error}"


def main() -> None:
    """Answer requests until stdin ends. What a module prints goes to stderr."""
    watch_parent(os.getppid())
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    session = Session(replies)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            with np.errstate(all="ignore"):
                value = encoded(session.answer(request))
            if NotEvaluableError.noted:  # the module caught it, and went on in another way
                raise NotEvaluableError(NotEvaluableError.noted[0])
            session.say({"value": value})
        except Exception as error:  # noqa: BLE001 - whatever foreign code raises
            session.say({"error": session.why(error), "too_large": isinstance(error, TooLargeError)})


if __name__ == "__main__":
    main()
