"""Inputs that are published with a kernel: KernelBench's `get_inputs` beside a `Model`, and a task's `generate_input`.

A task of a leaderboard has its inputs in a module beside the submissions or above them, and its cases in `task.yml`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernel_lineage.workloads.published_tasks import FOLDERS_ABOVE, cases_of
from kernel_lineage.workloads.triton.host_modules import HostModule, names_of, shaping
from kernel_lineage.workloads.triton.modules import Modules


@dataclass(frozen=True, slots=True)
class _Form:
    inputs: str
    """The function that makes inputs."""
    entries: tuple[str, ...]
    """What is called with them, the first that a module has."""
    call: str
    """How it is called: `{0}` is the entry, `_` the inputs, `{1}` what a class is made with."""


_FORMS = (
    _Form("get_inputs", ("ModelNew", "Model"), "return {0}({1})(*_)"),
    _Form("generate_input", ("custom_kernel",), "return custom_kernel(_)"),
)


def published_calls(module: HostModule, modules: Modules) -> Iterator[tuple[HostModule, ast.FunctionDef]]:
    """A module's model or entry, called with the inputs that are published for it: a function, and its module."""
    held = {*module.classes, *module.functions, *module.values}
    for form in _FORMS:
        entry = next((name for name in form.entries if name in held), None)
        source = _with_inputs(form.inputs, module, modules) if entry is not None else None
        body = source.functions[form.inputs].body if source is not None else []
        match body:
            case [*before, ast.Return(value=ast.expr() as inputs)] if (
                source is not None and entry is not None
            ):
                made = _init_inputs(source, module.classes.get(entry))
                call = ast.parse(form.call.format(entry, made)).body[0]
                arguments = source.functions[form.inputs].args
                function = ast.FunctionDef(
                    form.inputs,
                    arguments,
                    [*before, _kept(inputs), call],
                    _cases(source, [*names_of(arguments)]),
                )
                yield _with_entry(source, module, entry), ast.fix_missing_locations(function)


def _init_inputs(source: HostModule, model: ast.ClassDef | None) -> str:
    """What a model is made with, as arguments of a call; a size of its tensors is one that a tensor is made of."""
    function = source.functions.get("get_init_inputs")
    if function is None:
        return ""
    made = next((f for f in model.body if getattr(f, "name", "") == "__init__"), None) if model else None
    match function.body:
        case [ast.Return(value=ast.List(elts=values))] if isinstance(made, ast.FunctionDef):
            sizes = shaping(made)
            parameters = [p.arg for p in made.args.args[1:]]
            texts = list(map(ast.unparse, values))
            for at, (value, parameter) in enumerate(zip(values, parameters, strict=False)):
                if isinstance(value, ast.Name) and parameter in sizes:
                    texts[at] = f"torch.empty({value.id}).shape[0]"
            return ", ".join(texts)
    return "*get_init_inputs()"


def _kept(inputs: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name("_", ast.Store())], inputs)


def _with_inputs(name: str, module: HostModule, modules: Modules) -> HostModule | None:
    """The module that makes inputs: the own one, or one beside it or above."""
    if name in module.functions:
        return module
    folders = module.path.parents[: FOLDERS_ABOVE + 1]
    paths = [p for p in modules.mentioning(frozenset([name.encode()])) if p.parent in folders]
    for path in sorted(paths, key=lambda p: folders.index(p.parent)):
        candidate = modules.read(path)
        if candidate is not None and name in candidate.functions:
            return candidate
    return None


def _with_entry(source: HostModule, module: HostModule, entry: str) -> HostModule:
    """The module of the inputs, in which the name of the entry is the one of the kernel's module."""
    if source is module:
        return source
    level = source.path.parent
    inside = module.path.relative_to(level).with_suffix("").parts
    imports = {**source.imports, entry: (f".{'.'.join(inside)}", entry)}
    return replace(
        source,
        classes={n: c for n, c in source.classes.items() if n != entry},
        functions={n: f for n, f in source.functions.items() if n != entry},
        values={n: v for n, v in source.values.items() if n != entry},
        imports=imports,
    )


def _cases(source: HostModule, names: list[str]) -> list[ast.expr]:
    """The cases of a task that say all of these names, as a test writes them."""
    rows = cases_of(source.path.parent, "tests", "benchmarks")
    listed = [tuple(row[n] for n in names) for row in rows if {*row} == {*names}]
    if not listed:
        return []
    return [ast.parse(f"parametrize({','.join(names)!r}, {listed!r})", mode="eval").body]
