"""What a Triton kernel takes from other modules of its packages: those parts of them, as texts by path.

A kernel may call jit functions and read constants that another module defines. Only what it reaches is taken, so that
nothing is imported that asks for packages (torch) or a GPU which compiling does not need.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from kernel_gate.files.reading import read_text
from kernel_lineage.workloads.read_from import above_packages
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton_module import part_of_module

_MOST_MODULES = 60
_STAR = re.compile(r"\bimport[\s\\]*\*")


def siblings_of(text: str, path: Path) -> tuple[str, dict[str, str]]:
    """The path of a kernel's module in its package, and the parts of other modules that its text reaches.

    `text` is the part of the module that the kernel reaches. Both are empty where it imports nothing of its own
    packages. Raises `SyntaxError` and `ValueError` as reading a module does.
    """
    own, modules = _placed(path)
    root = modules.folder
    taken: dict[str, set[str]] = {}
    parts: dict[str, str] = {}
    waiting = [(own, text)]
    while waiting:
        importer, part = waiting.pop()
        for module, name in _taken(part, root / importer, modules):
            names = taken.setdefault(module, set())
            if module == own or name in names:
                continue
            names.add(name)
            parts[module] = part_of_module(read_text(root / module, errors="replace"), *sorted(names))
            waiting.append((module, parts[module]))
            if len(parts) > _MOST_MODULES:
                raise ValueError(f"{path} reaches more than {_MOST_MODULES} modules below {root}")
    return (own, parts) if parts else ("", {})


def taken_whole(text: str, part: str, path: Path) -> dict[str, str]:
    """The modules of its packages of which no names tell what a kernel's module takes, with their whole texts.

    `text` is the module's, `part` what the kernel reaches of it: a module that the part names, and what the module or
    one that it imports from takes by `*`. Raises `SyntaxError` and `ValueError` as `siblings_of`.
    """
    own, modules = _placed(path)
    root = modules.folder
    texts: dict[str, str] = {}
    waiting = [own]
    for importer in waiting:
        whole = text if importer == own else read_text(root / importer, errors="replace")
        reads = list(_taken(part if importer == own else whole, root / importer, modules))
        every = _taken(whole, root / importer, modules) if _STAR.search(whole) else ()
        stars = {module for module, name in every if name == "*"}
        taken = stars | {module for module, name in reads if not name}
        texts |= {module: read_text(root / module, errors="replace") for module in taken - {own}}
        waiting += sorted(({module for module, _ in reads} | taken).difference(waiting))
        if len(waiting) > _MOST_MODULES:
            raise ValueError(f"{path} reaches more than {_MOST_MODULES} modules below {root}")
    return texts


def _placed(path: Path) -> tuple[str, Modules]:
    """A file below the folder above its outermost package, and the modules of that folder."""
    file, root = path.resolve(), above_packages(path)
    return file.relative_to(root).as_posix(), Modules(root)


def _taken(part: str, importer: Path, modules: Modules) -> Iterator[tuple[str, str]]:
    """Each module of the folder that a text imports from, and the name it takes; "" where it imports the module itself,
    and then each name that it takes by that of the module: `helpers.clamp`.
    """
    tree = ast.parse(part)
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            base = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
            inner = alias.name if isinstance(node, ast.ImportFrom) else ""
            below = modules.file_of(importer, base, inner) if inner else None
            file = below or modules.file_of(importer, base)
            if file is None:
                continue
            module = file.relative_to(modules.folder).as_posix()
            is_whole = below is not None or not inner
            yield module, "" if is_whole else inner
            for attribute in _attributes_of(alias.asname or alias.name, tree) if is_whole else ():
                yield module, attribute


def _attributes_of(name: str, tree: ast.Module) -> Iterator[str]:
    """What a text asks of the object that a name stands for, which may be dotted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name:
            yield node.attr
