"""One Triton kernel of a project made ready to compile in this process: its parts in a folder on the import path."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel_gate.build.errors import BuildError
from kernel_gate.program import Program
from kernel_lineage.coverage.stand_ins import stand_in_for
from kernel_lineage.coverage.triton_parts import Parts


@contextmanager
def triton_program(path: Path, kernel: str, root: Path, folder: Path) -> Iterator[Program]:
    """The program of a kernel; while the block runs, what it imports from the project can be imported.

    Packages that are not installed are stood in for. Raises `BuildError` for a file that does not parse.
    """
    try:
        parts = Parts(root)
        text = parts.main(path, kernel)
    except (SyntaxError, OSError) as error:
        raise BuildError(str(error)) from error
    for name, part in parts.texts.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(part, "utf-8")
    stand_in_for(_foreign([text, *parts.texts.values()]))
    own = {name.split("/")[0].removesuffix(".py") for name in parts.texts}
    sys.path.insert(0, str(folder))
    try:
        yield Program("triton", text, kernel, name=path.name)
    finally:
        sys.path.remove(str(folder))
        # The next kernel reaches other parts of the same modules.
        for name in [m for m in sys.modules if m.split(".")[0] in own]:
            del sys.modules[name]


def _foreign(texts: list[str]) -> list[str]:
    """Top-level packages that some modules import."""
    found: set[str] = set()
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return sorted(found - {"triton", "__future__"} - set(sys.stdlib_module_names))
