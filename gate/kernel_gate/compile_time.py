"""What a Triton parameter may be when its kernel is compiled, besides a number: None, a text, a dtype.

A workload writes them as Python does: `"None"`, `"'mean'"`, `"tl.float32"`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from kernel_gate.dtype_names import NAMES
from kernel_gate.expressions import ExpressionError, Number, evaluate

Constant = Number | str | None
"""A dtype is the text that the workload has for it."""
DTYPE = re.compile(r"tl\.(\w+)")
_QUOTED = re.compile(r"""(['"]).*\1""", re.DOTALL)


def is_word(text: str | Number) -> bool:
    """Whether a value in a workload is none of the numbers."""
    return isinstance(text, str) and (
        text == "None" or DTYPE.fullmatch(text) is not None or _QUOTED.fullmatch(text) is not None
    )


def constant(text: str | Number, values: Mapping[str, Number]) -> Constant:
    """The value of a parameter; an expression over `values` is a number. Raises `ExpressionError`."""
    if not isinstance(text, str) or not is_word(text):
        return evaluate(text, values)
    if text == "None":
        return None
    dtype = DTYPE.fullmatch(text)
    if dtype is not None:
        if dtype[1] not in NAMES:
            raise ExpressionError(f"`{text}` is not one of {', '.join(f'tl.{n}' for n in NAMES)}")
        return text
    try:
        return str(ast.literal_eval(text))
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(f"`{text}` is not a text: {error}") from error
