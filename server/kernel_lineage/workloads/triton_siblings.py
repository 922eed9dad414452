"""What a Triton kernel takes from other modules of its packages: those parts of them, as texts by path.

A kernel may call jit functions and read constants that another module defines. Only what it reaches is taken, so that
nothing is imported that asks for packages (torch) or a GPU which compiling does not need.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from kernel_gate.files.reading import read_text
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton_module import part_of_module

_MOST_MODULES = 60


def siblings_of(text: str, path: Path) -> tuple[str, dict[str, str]]:
    """The path of a kernel's module in its package, and the parts of other modules that its text reaches.

    `text` is the part of the module that the kernel reaches. Both are empty where it imports nothing of its own
    packages. Raises `SyntaxError` and `ValueError` as reading a module does.
    """
    file = path.resolve()
    root = file.parent
    while (root / "__init__.py").is_file() and root.parent != root:
        root = root.parent  # the folder above the outermost package
    modules = Modules(root)
    own = file.relative_to(root).as_posix()
    taken: dict[str, dict[str, bool]] = {}
    parts: dict[str, str] = {}
    waiting = [(own, text)]
    while waiting:
        importer, part = waiting.pop()
        for module, name, used in _taken(part, root / importer, modules):
            names = taken.setdefault(module, {})
            if module == own or (name in names and names[name] >= used):
                continue
            names[name] = used
            parts[module] = _part(root / module, names)
            waiting.append((module, parts[module]))
            if len(parts) > _MOST_MODULES:
                raise ValueError(f"{path} reaches more than {_MOST_MODULES} modules below {root}")
    return (own, parts) if parts else ("", {})


def _taken(part: str, importer: Path, modules: Modules) -> Iterator[tuple[str, str, bool]]:
    """Each module of the folder that a text imports from, the name it takes ("" for all), and whether that is used."""
    tree = ast.parse(part)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    # What a package only hands on is used by whoever imports it from there.
    hands_on = importer.name == "__init__.py"
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            base = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
            inner = alias.name if isinstance(node, ast.ImportFrom) else ""
            below = modules.file_of(importer, base, inner) if inner else None
            file = below or modules.file_of(importer, base)
            if file is not None:
                name = "" if below is not None else inner
                needed = not name or hands_on or (alias.asname or name) in used
                yield file.relative_to(modules.folder).as_posix(), name, needed


def _part(file: Path, names: Mapping[str, bool]) -> str:
    """What some names of a module need; those that an import lists and nobody uses are None, at the end."""
    whole = read_text(file, errors="replace")
    part = part_of_module(whole, *sorted(n for n, used in names.items() if used))
    return part + "".join(f"\n{name} = None" for name, used in sorted(names.items()) if not used)
