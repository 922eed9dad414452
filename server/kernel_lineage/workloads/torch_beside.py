"""What PyTorch works out in host code beside a kernel, as far as a change makes it other work.

A verdict on a kernel is on its launches. What a function gives its callers also depends on `out.sqrt_()` behind a
launch or `x.float()` before it: where a change adds, drops or replaces such work, only the whole function is compared.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Set
from pathlib import Path

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.tensors import PERMUTES
from kernel_lineage.workloads.following.torch_work import (
    ALIASES,
    BINARY,
    CASTS,
    CLAMPS,
    OPERATORS,
    REDUCTIONS,
    UNARY,
)
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.read_back import read_back_in_cuda, read_back_in_python
from kernel_lineage.workloads.triton.host_modules import launched_from, module_of

_WORK = frozenset(
    {*UNARY, *BINARY, *CLAMPS, *REDUCTIONS, *ALIASES, *CASTS, "clamp", "pow", "prod", "norm", "var", "std", "softmax",
     "log_softmax", "logsumexp", "matmul", "mm", "bmm", "addmm", "einsum", "cumsum", "cumprod", "sort", "argsort",
     "topk", "argmax", "argmin", "where", "masked_fill", "index_select", "index_add", "gather", "scatter",
     "scatter_add", "cat", "stack", "flip", "roll", "any", "all", "to", "type_as", "int", "long", "copy_", "fill_",
     "nan_to_num", "sign", "gelu", "silu", *PERMUTES}
)  # fmt: skip
"""Functions of PyTorch, and methods of its tensors, that work out other values than they are given."""
_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros", "zero_"})
"""Those that make a tensor zero."""
_OF_TENSORS = frozenset(
    {"shape", "size", "sizes", "stride", "strides", "numel", "dtype", "scalar_type", "device", "contiguous", "data_ptr",
     "view", "reshape", "is_contiguous", "dim", "options", "element_size", "new_empty", "new_zeros", "flatten"}
)  # fmt: skip
"""What host code asks of tensors alone."""
SPACES = frozenset({"torch", "at", "F", "functional"})
"""Modules and namespaces of PyTorch's functions."""
_NOT_TORCH = frozenset({"math", "np", "numpy", "tl", "triton", "os", "std"})
_CONTIGUOUS = re.compile(r"(\w+)(?:\.|->)contiguous\(\)")
_FORMAT = re.compile(r"\b(?:ChannelsLast|channels_last)\w*$")
"""What names an order of tensors in memory."""
_SHOWN = 90
_PYTHON = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def torch_beside(
    kernel: str, before: SourceFile, after: SourceFile, *, since: str = "", keeps: bool = False
) -> tuple[str, ...]:
    """What PyTorch, or the host, works out in functions that launch a kernel before a change and after it, in one of
    the two alone. `since` is the kernel's name after the change, by default the same.

    `keeps`: the kernel leaves elements of an output as they were, so that tensors which are made zero count as well.
    Functions go by their names (`same_functions`). What PyTorch works out goes by its name and by what is written out
    in its arguments: `sum(-1)`, `to(torch.float32)`, `* …`; what the host makes of results that it copies back goes by
    its text.
    """
    differ: Counter[str] = Counter()
    for words in _differing(kernel, before, after, since, keeps=keeps).values():
        differ += words
    return tuple(dict.fromkeys(map(_short, sorted(differ))))


def functions_beside(kernel: str, before: SourceFile, after: SourceFile, since: str = "") -> tuple[str, ...]:
    """The functions in which a change makes that other work, in the order of the text before."""
    differing = _differing(kernel, before, after, since, keeps=False)
    return tuple(name for name, words in differing.items() if words)


def copies_left_out(kernel: str, before: SourceFile, after: SourceFile, since: str = "") -> tuple[str, ...]:
    """The tensors that functions made contiguous before they launched a kernel, `a` of `a.contiguous()`, and since a
    change only use: it may be right for tensors alone that lie row by row.
    """
    old, new = _contiguous_in(kernel, before), _contiguous_in(since or kernel, after)
    return tuple(
        tensor
        for name, later in same_functions(old, new)
        if new[later][0].total() < old[name][0].total()
        for tensor in old[name][0] - new[later][0]
        if tensor in new[later][1]
    )


def _contiguous_in(kernel: str, file: SourceFile) -> dict[str, tuple[Counter[str], frozenset[str]]]:
    """For each function that launches a kernel the names whose tensors it makes contiguous, and all of its names."""
    if file.language is not Language.CUDA:
        texts = {name: ast.unparse(function) for name, function in launching_in_python(kernel, file).items()}
    else:
        texts = {
            name: " ".join(text_of(code.node) for code in codes)
            for name, codes in launching_in_cuda(kernel, file).items()
        }
    return {
        name: (Counter(_CONTIGUOUS.findall(text)), frozenset(WORD.findall(text)))
        for name, text in texts.items()
    }


def _differing(
    kernel: str, before: SourceFile, after: SourceFile, since: str, *, keeps: bool
) -> dict[str, Counter[str]]:
    work = _of_cuda if after.language is Language.CUDA else _of_python
    names = _WORK | _ZEROS if keeps else _WORK
    old, new = work(kernel, before, names), work(since or kernel, after, names)
    return {
        name: (old[name] - new[later]) + (new[later] - old[name]) for name, later in same_functions(old, new)
    }


def same_functions(old: Iterable[str], new: Iterable[str]) -> list[tuple[str, str]]:
    """The functions that launch a kernel before a change with what they are called since, in the order before: those of
    one name, and the only one of another name.
    """
    before, after = list(old), list(new)
    gone, came = [n for n in before if n not in after], [n for n in after if n not in before]
    renamed = {gone[0]: came[0]} if len(gone) == len(came) == 1 else {}
    return [(n, renamed.get(n, n)) for n in before if n in after or n in renamed]


def _of_cuda(kernel: str, file: SourceFile, names: Set[str]) -> dict[str, Counter[str]]:
    return {
        name: Counter(
            one
            for code in codes
            for one in _worked_out(_in_cuda(code.node, names), read_back_in_cuda(code.node))
        )
        for name, codes in launching_in_cuda(kernel, file).items()
    }


def launching_in_cuda(kernel: str, file: SourceFile) -> dict[str, list[HostCode]]:
    """The host functions that name a kernel, with all of a name."""
    functions = unit_of(file.data.decode("utf-8", "replace")).functions
    hosts = {name: [code for code in codes if code.of_host] for name, codes in functions.items()}
    return {name: codes for name, codes in hosts.items() if any(kernel in code.words for code in codes)}


def _worked_out(of_torch: Iterable[str], of_host: Iterable[str]) -> Iterator[str]:
    yield from (f"PyTorch's {one}" for one in of_torch)
    yield from (f"what the host makes of the results: {one}" for one in of_host)


def _short(work: str) -> str:
    return work if len(work) <= _SHOWN else f"{work[: _SHOWN - 1]}…"


def _in_cuda(function: Node, names: Set[str]) -> Iterator[str]:
    nodes = list(inside(function))
    tensors = set()
    for node in nodes:
        field = node.child_by_field_name("field") if node.type == "field_expression" else None
        if text_of(field).partition("<")[0] in _OF_TENSORS:
            tensors.add(text_of(node.child_by_field_name("argument")))
    for node in nodes:
        if node.type == "call_expression":
            callee, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            if callee is None:
                continue
            if callee.type == "field_expression":
                name, of = text_of(callee.child_by_field_name("field")), ""
            else:
                of, _, name = text_of(callee).replace(" ", "").rpartition("::")
                if not {*of.split("::")} & SPACES:
                    continue
            if name.removesuffix("_") in names or name in names:
                yield _written(name, map(text_of, arguments_of(listed)), skips=bool(of))
        elif node.type in ("binary_expression", "assignment_expression"):
            operator = text_of(node.child_by_field_name("operator"))
            sides = [text_of(node.child_by_field_name(side)) for side in ("left", "right")]
            if operator.removesuffix("=") in OPERATORS and tensors & {*sides}:
                yield _operated(operator, (side for side in sides if side not in tensors))
        elif node.type == "qualified_identifier" and (order := _FORMAT.search(text_of(node))):
            yield order[0]


def _of_python(kernel: str, file: SourceFile, names: Set[str]) -> dict[str, Counter[str]]:
    if file.module is None:
        return {}
    launching = launching_in_python(kernel, file)
    called = {name.replace(".forward", ".apply") for name in launching}
    called |= {
        n for n, value in module_of(Path(), file.module).values.items() if ast.unparse(value) in called
    }
    return {
        name: Counter(_worked_out(_in_python(function, names, called), read_back_in_python(function)))
        for name, function in launching.items()
    }


def launching_in_python(kernel: str, file: SourceFile) -> dict[str, ast.FunctionDef]:
    """The functions of Python that lead to a kernel, methods as `Class.method`; none where the file does not parse."""
    if file.module is None:
        return {}
    module, kernels = module_of(Path(), file.module), {k.name for k in file.kernels}
    return {
        name: function
        for name, function in module.functions.items()
        if name not in kernels
        and (kernel in WORD.findall(ast.unparse(function)) or kernel in launched_from(name, module))
    }


def _in_python(function: ast.AST, names: Set[str], launching: Collection[str]) -> Iterator[str]:
    """What a function works out by functions of some `names`; calls of those that are `launching` give tensors, and
    are given some.
    """
    nodes = list(ast.walk(function))
    tensors = {
        ast.unparse(node.value)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS
    }
    for node in nodes:
        call = node.value if isinstance(node, ast.Assign) else node
        if isinstance(call, ast.Call) and ast.unparse(call.func) in launching:
            tensors |= {ast.unparse(part) for part in (*call.args, call)}
            tensors |= {ast.unparse(t) for t in node.targets} if isinstance(node, ast.Assign) else set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and _FORMAT.search(node.attr):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, ast.unparse(node.func.value)
            if of not in _NOT_TORCH and (name.removesuffix("_") in names or name in names):
                words = [
                    *map(ast.unparse, node.args),
                    *(f"{k.arg}={ast.unparse(k.value)}" for k in node.keywords),
                ]
                yield _written(name, words, skips=of.rpartition(".")[2] in SPACES)
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _PYTHON:
            parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            sides = [ast.unparse(part) for part in parts]
            if tensors & {*sides}:
                is_in_place = "=" if isinstance(node, ast.AugAssign) else ""
                yield _operated(
                    f"{_PYTHON[type(node.op)]}{is_in_place}", (s for s in sides if s not in tensors)
                )


def _written(name: str, arguments: Iterable[str], *, skips: bool) -> str:
    """A call by its name and what its arguments write out; `skips`: the first one is the tensor."""
    return f"{name}({', '.join(map(_literal, [*arguments][skips:]))})"


def _operated(operator: str, others: Iterable[str]) -> str:
    return " ".join([operator, *map(_literal, others)])


def _literal(text: str) -> str:
    """An argument as it is written where it names nothing but types; else `…`."""
    words = {word for word in WORD.findall(text) if not word[0].isdigit()}
    is_told = all(w in SPACES or w.startswith("k") or w in _TYPES for w in words)
    return "".join(text.split()) if is_told else "…"


_TYPES = frozenset(
    {"true", "false", "True", "False", "None", "dim", "keepdim", "dtype", "float", "float16", "float32", "float64",
     "bfloat16", "half", "int32", "int64", "int8", "uint8", "bool", "double", "long", "int"}
)  # fmt: skip
