"""What a Triton kernel takes from other modules of its packages: those parts of them, as texts by path.

A kernel may call jit functions and read constants that another module defines. Only what it reaches is taken, so that
nothing is imported that asks for packages (torch) or a GPU which compiling does not need.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kernel_gate.files.reading import read_text
from kernel_lineage.workloads.python_package import import_root, imported_from
from kernel_lineage.workloads.triton_module import part_of_module

_MOST_MODULES = 60
_STAR = re.compile(r"\bimport[\s\\]*\*")


def siblings_of(text: str, path: Path) -> tuple[str, dict[str, str]]:
    """The path of a kernel's module in its package, and the parts of other modules that its text reaches.

    `text` is the part of the module that the kernel reaches. Both are empty where it imports nothing of its own
    packages. Raises `SyntaxError` and `ValueError` as reading a module does.
    """
    file = path.resolve()
    root = import_root(file)
    own = file.relative_to(root).as_posix()
    taken: dict[str, dict[str, bool]] = {}
    parts: dict[str, str] = {}
    waiting = [(own, text)]
    while waiting:
        importer, part = waiting.pop()
        for module, name, used in _taken(part, importer, root):
            names = taken.setdefault(module, {})
            if module == own or (name in names and names[name] >= used):
                continue
            names[name] = used
            parts[module] = _part(root / module, names)
            waiting.append((module, parts[module]))
            if len(parts) > _MOST_MODULES:
                raise ValueError(f"{path} reaches more than {_MOST_MODULES} modules below {root}")
    return (own, parts) if parts else ("", {})


def taken_whole(text: str, part: str, path: Path) -> dict[str, str]:
    """The modules of its packages of which no names tell what a kernel's module takes, with their whole texts.

    `text` is the module's, `part` what the kernel reaches of it: a module that the part names, and what the module or
    one that it imports from takes by `*`. Raises `SyntaxError` and `ValueError` as `siblings_of`.
    """
    file = path.resolve()
    root = import_root(file)
    own = file.relative_to(root).as_posix()
    found: dict[str, str] = {}
    waiting = [own]
    for importer in waiting:
        whole = text if importer == own else read_text(root / importer, errors="replace")
        reads = list(_taken(part if importer == own else whole, importer, root))
        every = _taken(whole, importer, root) if _STAR.search(whole) else ()
        stars = {module for module, name, _ in every if name == "*"}
        taken = stars | {module for module, name, _ in reads if not name}
        found |= {module: read_text(root / module, errors="replace") for module in taken - {own}}
        waiting += sorted(({module for module, _, _ in reads} | taken).difference(waiting))
        if len(waiting) > _MOST_MODULES:
            raise ValueError(f"{path} reaches more than {_MOST_MODULES} modules below {root}")
    return found


def _taken(part: str, importer: str, root: Path) -> Iterator[tuple[str, str, bool]]:
    """Each module below `root` that a text imports from, the name it takes ("" for all), and whether that is used."""
    tree = ast.parse(part)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            local = {a.name: a.asname or a.name for a in node.names}
            # What a package only hands on is used by whoever imports it from there.
            hands_on = importer.endswith("__init__.py")
            for module, name in imported_from(node, importer, root):
                yield module, name, not name or hands_on or local.get(name, name) in used


def _part(file: Path, names: Mapping[str, bool]) -> str:
    """What some names of a module need; those that an import lists and nobody uses are None, at the end."""
    whole = read_text(file, errors="replace")
    part = part_of_module(whole, *sorted(n for n, used in names.items() if used))
    return part + "".join(f"\n{name} = None" for name, used in sorted(names.items()) if not used)
