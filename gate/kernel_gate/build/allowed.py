"""What a program's source may ask of a compiler: headers and flags on a list, nothing else of the machine.

A text check is a hint and no sandbox: comments, splices and digraphs are undone first, macros are not expanded; that
is why an `#include` whose name is a macro is refused too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kernel_gate.build.errors import BuildError, Diagnostic
from kernel_gate.reasons import Reason

_DIRECTIVE = re.compile(
    r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(include_next|include|import|embed)\b[ \t]*(.*)$", re.MULTILINE
)
_HEADER = re.compile(r"""<([^<>\n]+)>|"([^"\n]+)\"""")
_COMMENT = re.compile(
    r"""R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/""", re.DOTALL
)
_FLAG = re.compile(
    r"--?(?:std=c\+\+(?:11|14|17|20)|use_fast_math|maxrregcount=\d{1,3}|extra-device-vectorization"
    r"|(?:fmad|ftz|prec-div|prec-sqrt)=(?:true|false))"
)
_PTX_INCLUDE = re.compile(r"^\s*\.include\b", re.MULTILINE)


def _uncommented(source: str) -> str:
    """The source with lines spliced and comments blanked; line numbers stay."""
    spliced = re.sub(r"(?:\\|\?\?/)[ \t]*\r?\n", "\x00", source)

    def blank(match: re.Match[str]) -> str:
        text = match[0]
        return text if text[0] in "\"'R" else " " + "\n" * text.count("\n") + "\x00" * text.count("\x00")

    flat = _COMMENT.sub(blank, spliced)
    return "\n".join(line.replace("\x00", "") + "\n" * line.count("\x00") for line in flat.split("\n"))


def check_includes(source: str, own: Iterable[str], toolkit: Sequence[Path], name: str) -> None:
    """Raise `BuildError` at the first header that is neither the program's own nor the toolkit's."""
    known = set(own)
    text = _uncommented(source)
    for match in _DIRECTIVE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        header = _HEADER.match(match[2])
        target = (header[1] or header[2]) if header else match[2].strip()
        if match[1] == "include" and header:
            relative = not target.startswith(("/", "\\")) and ".." not in Path(target).parts
            if target in known or (relative and any((d / target).is_file() for d in toolkit)):
                continue
        message = (
            f"{name} asks for `#{match[1]} {match[2].strip()}`; only the CUDA toolkit's headers and the headers that "
            "come with the program may be included"
        )
        refused = Diagnostic(line, "error", f"#{match[1]} {target} is not allowed")
        raise BuildError(message, (refused,), code=Reason.SOURCE_NOT_ALLOWED)


def check_program_headers(
    source: str, includes: Mapping[str, str], shims: Iterable[str], toolkit: Sequence[Path], name: str
) -> None:
    """`check_includes` on the source and on every header that comes with it."""
    own = {*includes, *shims}
    for header, text in includes.items():
        check_includes(text, own, toolkit, header)
    check_includes(source, own, toolkit, name)


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
