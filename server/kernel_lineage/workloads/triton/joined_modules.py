"""A host function and the Triton kernels that it imports from another module, as the text of one module.

What reads and judges a host function has one file. The kernels' module comes first, so that lines of kernels stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.program_errors import ProgramError
from kernel_lineage.workloads.triton.host_modules import HostModule, launched_by, module_of
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.sites import sites_of
from kernel_lineage.workloads.triton_module import bound


def hosts_of(kernel: Kernel, path: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """The functions that launch a kernel of a file below `root`, each with its file."""
    if kernel.source is None or kernel.source.module is None:
        return
    own = module_of(path.resolve(), kernel.source.module)
    for site in sites_of(kernel.name, own, Modules(root.resolve(), {own.path: own})):
        yield site.module.path, site.launcher


def joined_text(kernels: Path, host: Path, root: Path) -> bytes:
    """The text of a module of kernels with that of the module that launches them, both below `root`.

    Raises `ProgramError` where they cannot stand in one module.
    """
    modules = Modules(root.resolve())
    own, there = modules.read(host.resolve()), modules.read(kernels.resolve())
    if own is None or there is None:
        raise ProgramError(f"{host} and {kernels} do not both parse")
    takes = _Taken(own, there, modules)
    tree = takes.visit(ast.parse(read_file(host).decode("utf-8", "replace")))
    whole = ast.parse(text := read_file(kernels).decode("utf-8", "replace"))
    if kernels.parent != host.parent and any(
        isinstance(n, ast.ImportFrom) and n.level for n in ast.walk(whole)
    ):
        raise ProgramError(f"{kernels} imports from beside itself, and {host} stands elsewhere")
    before, after = (dict(_bindings(module)) for module in (whole, tree))
    twice = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    if twice:
        raise ProgramError(f"`{twice[0]}` is one thing in {kernels.name} and another in {host.name}")
    return f"{text}\n{ast.unparse(tree)}\n".encode()


class _Taken(ast.NodeTransformer):
    """Names what a module takes from another one as that one does, and drops the imports."""

    def __init__(self, own: HostModule, there: HostModule, modules: Modules) -> None:
        self._own, self._there, self._modules = own, there, modules
        self._names: dict[str, str] = {}
        self._wholes: set[str] = set()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | None:
        """Drop what is taken from the other module."""
        base = "." * node.level + (node.module or "")
        if base == "__future__":
            return None
        left = []
        for alias in node.names:
            called = alias.asname or alias.name
            if self._modules.file_of(self._own.path, base) == self._there.path and alias.name != "*":
                self._names[called] = alias.name
            elif self._modules.file_of(self._own.path, base, alias.name) == self._there.path:
                self._wholes.add(called)
            elif alias.name != "*" or self._modules.file_of(self._own.path, base) != self._there.path:
                left.append(alias)
        return ast.ImportFrom(node.module, left, node.level) if left else None

    def visit_Import(self, node: ast.Import) -> ast.stmt | None:
        """Drop an import of the other module under a name."""
        left = []
        for alias in node.names:
            is_there = self._modules.file_of(self._own.path, alias.name) == self._there.path
            if is_there and alias.asname:
                self._wholes.add(alias.asname)
            else:
                left.append(alias)
        return ast.Import(left) if left else None

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """`kernels.scale` is `scale`."""
        if isinstance(node.value, ast.Name) and node.value.id in self._wholes:
            return ast.Name(node.attr, node.ctx)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name under which something was taken."""
        return ast.Name(self._names.get(node.id, node.id), node.ctx)


def _bindings(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name that a module binds at its top level, with what it is."""
    for statement in module.body:
        for name in bound(statement):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                base = getattr(statement, "module", "")
                parts = {a.asname or a.name.split(".")[0]: a.name for a in statement.names}
                yield name, f"{base} {parts.get(name, name)}"
            else:
                yield name, ast.dump(statement)


def launches_in(module: ast.Module) -> dict[str, frozenset[str]]:
    """Kernel that functions of a module launch and the module does not define → each launch, with the statements that
    give it what it passes.
    """
    launches: dict[str, frozenset[str]] = {}
    functions = [n for n in ast.walk(module) if isinstance(n, ast.FunctionDef)]
    own = {function.name for function in functions}
    for function in functions:
        for call in ast.walk(function):
            for kernel in launched_by(call) - own:
                launches[kernel] = launches.get(kernel, frozenset()) | {_with_what_it_passes(call, function)}
    return launches


def _with_what_it_passes(call: ast.AST, function: ast.FunctionDef) -> str:
    statements: dict[ast.stmt, None] = {}
    names, grows = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}, True
    while grows:
        grows = False
        for node in ast.walk(function):
            if (
                not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For))
                or node in statements
            ):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound_names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            if bound_names & names:
                grows = True
                statements[node] = None
                read = node.iter if isinstance(node, ast.For) else node
                names |= {n.id for n in ast.walk(read) if isinstance(n, ast.Name)}
    texts = sorted(ast.dump(s.iter if isinstance(s, ast.For) else s) for s in statements)
    return "\n".join([ast.dump(call), *texts])
