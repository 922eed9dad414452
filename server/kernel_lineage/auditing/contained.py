"""A module in its contained process: what it computes, with its launches run here."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernel_gate.build.compile import Limits
from kernel_gate.build.contained_run import decided
from kernel_gate.contained_child import ChildError, ContainedChild
from kernel_gate.processes.closing import Closing
from kernel_gate.processes.python import python_command
from kernel_gate.sandbox.containment import ContainmentError
from kernel_lineage.auditing.messages import decoded, encoded
from kernel_lineage.auditing.tensors import NotEvaluableError, Tensor
from kernel_lineage.auditing.torch_values import MOST_ELEMENTS, TooLargeError

_MOST_BYTES = 6 << 30
"""Bytes of address space: the arrays of a model are far below."""
_ANSWER_BYTES = 1 << 29
"""Bytes of one answer: ten tensors of the largest scale, in letters."""
_MOST_LAUNCHES = 1000

Launch = Callable[[str, Sequence[Any], Sequence[Any], Mapping[str, Any]], None]
"""Runs a kernel: its name, the grid, and the arguments of the launch."""
Host = Callable[[str, str, Sequence[Any]], Any]
"""Runs a host function: the extension's source, the function's name, its arguments."""


class ContainedModule(Closing):
    """A module that runs contained. A context manager: its process ends with it.

    With `exact` floats stay in float64; a tensor has at most `most` elements; `seconds` bound all that it does,
    launches among it. What it asks for and cannot be done raises `NotEvaluableError`.
    """

    def __init__(
        self,
        exact: bool,
        seconds: float,
        most: int = MOST_ELEMENTS,
        launch: Launch | None = None,
        host: Host | None = None,
    ) -> None:
        self._exact, self._most, self._launch, self._host = exact, most, launch, host
        self._launches = 0
        self._seconds, self._deadline = seconds, time.monotonic() + seconds
        try:
            containment = decided(allow_uncontained=False)
        except ContainmentError as error:
            raise NotEvaluableError(f"a module is Python: {error}") from error
        self._child = ContainedChild(
            "the module",
            python_command("kernel_lineage.auditing.child"),
            limits=Limits(seconds=seconds, address_bytes=_MOST_BYTES, resident_bytes=_MOST_BYTES),
            containment=containment,
            answer_bytes=_ANSWER_BYTES,
        )

    def close(self) -> None:
        self._child.close()

    def read(self, text: str, sizes: Mapping[str, int], numbers: Mapping[int, int]) -> None:
        """Run the module's statements.

        `sizes` replaces whole numbers that it names at its top level, `numbers` those that stand where it makes inputs.
        """
        small = {str(number): size for number, size in numbers.items()}
        self._ask({"do": "read", "text": text, "sizes": dict(sizes), "numbers": small})

    def call(self, name: str, seed: int) -> list[Any]:
        """What a function of the module gives: a list. Its tensors hold what their types hold."""
        made = self._ask({"do": "call", "name": name, "seed": seed, "exact": False})
        if not isinstance(made, list):
            raise NotEvaluableError(f"{name} gives no list")
        return made

    def build(self, name: str, args: Sequence[Any], seed: int) -> dict[str, Tensor]:
        """Make an object of a class of the module the model; its parameters."""
        made = self._ask({"do": "build", "name": name, "args": encoded(list(args)), "seed": seed})
        if not isinstance(made, dict) or not all(isinstance(t, Tensor) for t in made.values()):
            raise NotEvaluableError(f"{name} has parameters that are no tensors")
        return made

    def set(self, values: Mapping[str, Tensor]) -> None:
        """Give parameters of the model their values."""
        self._ask({"do": "set", "values": encoded(values)})

    def forward(self, args: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
        """What the model gives, and what was given as it left that."""
        match self._ask({"do": "forward", "args": encoded(list(args))}):
            case [list(made), list(after)] if all(isinstance(m, Tensor) for m in made):
                return made, after
        raise NotEvaluableError("forward gives something else than tensors")

    def _ask(self, request: Mapping[str, Any]) -> Any:
        try:
            self._child.say({"exact": self._exact, "most": self._most, **request})
            while True:
                message = self._child.hear(max(self._deadline - time.monotonic(), 0.0))
                if "error" in message:
                    kind = TooLargeError if message.get("too_large") is True else NotEvaluableError
                    raise kind(str(message["error"])[:2000])
                if "value" in message:
                    return decoded(message["value"])
                try:
                    reply = self._run(message)
                except TooLargeError as error:  # the module is asked again, at smaller sizes
                    reply = {"too_large": str(error)}
                self._child.say(reply)
        except ChildError as error:
            if time.monotonic() >= self._deadline:
                raise NotEvaluableError(f"it took more than {self._seconds:.3g} s") from error
            raise NotEvaluableError(str(error)) from error
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            # A call that torch would refuse, or an argument that has no meaning without it.
            raise NotEvaluableError(f"{type(error).__name__}: {error}") from error

    def _run(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """A launch, or a call of a host function: what it gives, and what it was given as it left that."""
        self._launches += 1
        if self._launches > _MOST_LAUNCHES:
            raise NotEvaluableError(f"more than {_MOST_LAUNCHES} launches")
        args, kwargs = decoded(message.get("args")), decoded(message.get("kwargs", {"named": {}}))
        if not isinstance(args, list) or not isinstance(kwargs, dict):
            raise NotEvaluableError("an answer that cannot be read")
        operands, made = [*args, *kwargs.values()], None
        if "launch" in message and self._launch is not None:
            grid = decoded(message.get("grid"))
            if not isinstance(grid, list) or not all(isinstance(g, int) for g in grid):
                raise NotEvaluableError(f"the grid of {message['launch']}")
            self._launch(str(message["launch"]), grid, args, kwargs)
        elif "host" in message and self._host is not None:
            made = self._host(str(message.get("source")), str(message["host"]), args)
        else:
            raise NotEvaluableError("a kernel is launched")
        same = next((at for at, one in enumerate(operands) if one is made and isinstance(made, Tensor)), None)
        return {"value": encoded(made) if same is None else None, "same": same, "after": encoded(operands)}
