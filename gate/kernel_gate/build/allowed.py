"""What a program may ask of a compiler by flags and inline assembly. Headers are a matter of what it can open."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernel_gate.build.errors import BuildError
from kernel_gate.reasons import Reason

_FLAG = re.compile(
    r"--?(?:std=c\+\+(?:11|14|17|20)|use_fast_math|maxrregcount=\d{1,3}|extra-device-vectorization"
    r"|(?:fmad|ftz|prec-div|prec-sqrt)=(?:true|false))"
)
_PTX_INCLUDE = re.compile(r"(?<![\w.%$])\.include(?![\w.$])")


def check_flags(flags: Sequence[str]) -> None:
    """Raise `BuildError` for a compiler flag that is not on the list."""
    for flag in flags:
        if not _FLAG.fullmatch(flag):
            raise BuildError(
                f"The compiler flag `{flag}` is not allowed; allowed are -std, -use_fast_math, -maxrregcount, -fmad, "
                "-ftz, -prec-div, -prec-sqrt and -extra-device-vectorization",
                code=Reason.SOURCE_NOT_ALLOWED,
            )


def check_ptx(ptx: str) -> None:
    """Raise `BuildError` when inline assembly asks the assembler for a file."""
    if _PTX_INCLUDE.search(ptx):
        raise BuildError(
            "The program's inline PTX uses `.include`; files of the machine may not be read",
            code=Reason.SOURCE_NOT_ALLOWED,
        )
