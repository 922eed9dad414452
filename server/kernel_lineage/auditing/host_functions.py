"""The host functions of a torch extension (`load_inline`), worked out without running them: buffers and launches."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tree_sitter import Node

from kernel_gate.program import LaunchSpec, Program
from kernel_lineage.auditing.emulation import Emulation, Scalar
from kernel_lineage.auditing.tensors import DTypeName, NotEvaluableError, Tensor, dtype_of
from kernel_lineage.auditing.torch_values import Torch
from kernel_lineage.code.types import DTYPES, type_bytes
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.slicing import device_slice
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.host_functions import host_functions, line_of, parameters_of, text_of

_SAFE_TO_SKIP = re.compile(
    r"^(TORCH_CHECK|CHECK\w*|C10_CUDA\w*|AT_CUDA\w*|TORCH_INTERNAL\w*|assert|"
    r"cuda(Get|Peek|Device|Stream|Func)\w*)$"
)
_NOT_READ = re.compile(r"cudaError_t|cudaStream_t|Guard\b|cudaDeviceProp|getCurrentCUDAStream")
_WHOLE = re.compile(r"\b(int|int32_t|int64_t|size_t|long|unsigned|uint32_t|uint64_t)\b")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt, ">": operator.gt, "<=": operator.le,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
}  # fmt: skip


class _Returned(Exception):  # noqa: N818 - control flow
    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True, slots=True)
class _Dim3:
    extents: tuple[int, ...]


@dataclass
class HostFunctions:
    """The host functions of one source. Launches run on `emulation`."""

    source: str
    torch: Torch
    emulation: Emulation
    label: str = ""

    def __post_init__(self) -> None:
        self._file = read(self.source.encode(), Language.CUDA)
        self._functions = host_functions(self._file)
        self._types: dict[str, str] = {}

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """What a function gives. Raises `NotEvaluableError`, and `KernelFault` from its launches."""
        node = self._functions.get(name)
        body = node.child_by_field_name("body") if node is not None else None
        if node is None or body is None:
            raise NotEvaluableError(f"the extension has no function {name}")
        names = parameters_of(node)
        if len(names) != len(arguments):
            raise NotEvaluableError(f"{name} takes {len(names)} arguments, and is given {len(arguments)}")
        try:
            self._block(body, dict(zip(names, arguments, strict=True)))
        except _Returned as returned:
            return returned.value
        return None

    def _block(self, node: Node, scope: dict[str, Any]) -> None:
        for child in node.named_children if node.type == "compound_statement" else [node]:
            self._statement(child, scope)

    def _statement(self, node: Node, scope: dict[str, Any]) -> None:
        if node.type in ("comment", "using_declaration", "static_assert_declaration", "preproc_ifdef"):
            return
        if node.type == "declaration":
            self._declared(node, scope)
        elif node.type == "expression_statement":
            for child in node.named_children:
                self._value(child, scope)
        elif node.type == "return_statement":
            raise _Returned(self._value(node.named_children[0], scope) if node.named_children else None)
        elif node.type == "if_statement":
            condition, *parts = [c for c in node.named_children if c.type != "comment"]
            chosen = parts[:1] if self._value(condition, scope) else parts[1:]
            for part in chosen:
                self._block(part.named_children[0] if part.type == "else_clause" else part, scope)
        elif node.type == "compound_statement":
            self._block(node, scope)
        else:
            raise self._unread(node)

    def _unread(self, node: Node) -> NotEvaluableError:
        return NotEvaluableError(f"host code, line {line_of(node)} of the extension: `{text_of(node)[:60]}`")

    def _declared(self, node: Node, scope: dict[str, Any]) -> None:
        if _NOT_READ.search(text_of(node)):
            return
        kind = text_of(node.child_by_field_name("type"))
        for part in node.named_children:
            if part.type == "function_declarator" and kind == "dim3":
                # `dim3 grid(rows);` reads as the declaration of a function too.
                name, listed = (part.child_by_field_name(f) for f in ("declarator", "parameters"))
                given = [text_of(c) for c in listed.named_children] if listed is not None else []
                if all(g in scope for g in given):
                    scope[text_of(name)] = _Dim3(tuple(int(scope[g]) for g in given))
                    continue
                raise self._unread(node)
            if part.type != "init_declarator":
                continue
            name = re.findall(r"[A-Za-z_]\w*", text_of(part.child_by_field_name("declarator")))[-1]
            value = part.child_by_field_name("value")
            if value is None:
                raise self._unread(node)
            if value.type in ("argument_list", "initializer_list") and kind == "dim3":
                scope[name] = _Dim3(tuple(int(self._value(c, scope)) for c in value.named_children))
            else:
                made = self._value(value, scope)
                scope[name] = int(made) if _WHOLE.search(kind) and isinstance(made, float) else made

    def _value(self, node: Node, scope: dict[str, Any]) -> Any:
        match node.type:
            case "number_literal":
                text = text_of(node).replace("'", "").rstrip("uUlL")
                is_float = not text.startswith("0x") and (re.search(r"[.eE]", text) or text.endswith("f"))
                return float(text.rstrip("fF")) if is_float else int(text, 0)
            case "true" | "false":
                return node.type == "true"
            case "null" | "string_literal":
                return None
            case "identifier":
                if text_of(node) not in scope:
                    return self._constant(node)
                return scope[text_of(node)]
            case "parenthesized_expression" | "condition_clause":
                return self._value(node.named_children[0], scope)
            case "cast_expression":
                return self._cast(
                    text_of(node.child_by_field_name("type")), node.child_by_field_name("value"), scope
                )
            case "sizeof_expression":
                kind = text_of(node).removeprefix("sizeof").strip("() ")
                if (size := type_bytes(_plain(kind))) is None:
                    raise self._unread(node)
                return size
            case "unary_expression":
                value = self._value(node.named_children[0], scope)
                return not value if text_of(node).startswith("!") else -value
            case "binary_expression":
                return self._binary(node, scope)
            case "conditional_expression":
                test, then, other = node.named_children
                return self._value(then if self._value(test, scope) else other, scope)
            case "assignment_expression":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                if left is None or right is None or left.type != "identifier":
                    raise self._unread(node)
                scope[text_of(left)] = self._value(right, scope)
                return None
            case "initializer_list":
                return [self._value(c, scope) for c in node.named_children]
            case "qualified_identifier":
                return self._qualified(node)
            case "call_expression":
                return self._called(node, scope)
        raise self._unread(node)

    def _constant(self, node: Node) -> Any:
        """A macro or a constant of the file that is a whole number."""
        name = re.escape(text_of(node))
        found = re.search(
            rf"^\s*#\s*define\s+{name}\s+\(?(\d+)\)?\s*$|\b(?:constexpr|const)\s+\w+\s+{name}\s*=\s*(\d+)\s*;",
            self.source,
            re.MULTILINE,
        )
        if found is None:
            raise self._unread(node)
        return int(found[1] or found[2])

    def _qualified(self, node: Node) -> Any:
        last = text_of(node).rpartition("::")[2]
        dtype = dtype_of(re.sub(r"^k", "", last).lower()) or {
            "kBFloat16": "bfloat16",
            "kHalf": "float16",
        }.get(last)
        if dtype is None:
            raise self._unread(node)
        return DTypeName(dtype)

    def _cast(self, kind: str, node: Node | None, scope: dict[str, Any]) -> Any:
        if node is None:
            raise NotEvaluableError(f"a cast to {kind}")
        value = self._value(node, scope)
        if isinstance(value, Tensor):
            return value
        return int(value) if _WHOLE.search(kind) else float(value)

    def _binary(self, node: Node, scope: dict[str, Any]) -> Any:
        left, right = (self._value(c, scope) for c in node.named_children[:2])
        sign = text_of(node.child_by_field_name("operator"))
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            name = {"+": "add", "-": "sub", "*": "mul", "/": "div"}.get(sign)
            if name is None:
                raise self._unread(node)
            return self.torch.operate(name, (left, right), {})
        if sign in "/%":
            if isinstance(left, float) or isinstance(right, float):
                return left / right
            # C rounds towards zero.
            share = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return share if sign == "/" else left - share * right
        if sign not in _OPERATORS:
            raise self._unread(node)
        return _OPERATORS[sign](left, right)

    def _called(self, node: Node, scope: dict[str, Any]) -> Any:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        given = list(arguments.named_children) if arguments is not None else []
        launch = next((c for c in node.named_children if c.type == "kernel_call_syntax"), None)
        if function is None:
            raise self._unread(node)
        if launch is not None:
            return self._launched(function, launch, given, scope)
        if function.type == "field_expression":
            return self._method(function, given, scope)
        text = text_of(function)
        plain = re.sub(r"<.*>$", "", text).rpartition("::")[2]
        if _SAFE_TO_SKIP.match(plain):
            return None
        if plain in ("static_cast", "reinterpret_cast", "const_cast"):
            return self._cast(text.partition("<")[2].rstrip("> "), given[0], scope)
        if plain.startswith("AT_DISPATCH"):
            return self._dispatched(given, scope)
        values = [self._value(a, scope) for a in given]
        if plain == "dim3":
            return _Dim3(tuple(int(v) for v in values))
        if plain in ("min", "max"):
            return (min if plain == "min" else max)(*values)
        if plain in self._functions:
            return self.call(plain, values)
        if text.startswith(("torch::", "at::")):
            types = [v for v in values if isinstance(v, DTypeName)]
            rest = [v for v in values if not isinstance(v, DTypeName)]
            made = self.torch.create(plain, rest, {"dtype": types[0]} if types else {})
            return made if made is not None else self.torch.operate(plain, values, {})
        raise self._unread(node)

    def _dispatched(self, given: Sequence[Node], scope: dict[str, Any]) -> None:
        """`AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), name, [&] { … })`: the body, with `scalar_t` as that type."""
        kind = self._value(given[0], scope)
        body = given[-1]
        while body.type != "compound_statement":
            inner = next(
                (c for c in body.named_children if c.type in ("lambda_expression", "compound_statement")),
                None,
            )
            if inner is None:
                raise self._unread(given[-1])
            body = inner
        if not isinstance(kind, DTypeName):
            raise self._unread(given[0])
        names = {"float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16"}
        self._types["scalar_t"] = names.get(kind.name, kind.name)
        self._block(body, scope)

    def _method(self, function: Node, given: Sequence[Node], scope: dict[str, Any]) -> Any:
        owner_node, name = (
            function.child_by_field_name("argument"),
            text_of(function.child_by_field_name("field")),
        )
        name = name.partition("<")[0]
        if owner_node is None:
            raise self._unread(function)
        owner = self._value(owner_node, scope)
        if isinstance(owner, DTypeName):
            values = [self._value(a, scope) for a in given]
            # Options: those of a tensor, of which only the type counts here.
            return next((v for v in values if isinstance(v, DTypeName)), owner) if name == "dtype" else owner
        if not isinstance(owner, Tensor):
            raise self._unread(function)
        if name in ("data_ptr", "data", "mutable_data_ptr", "const_data_ptr"):
            return owner
        if name in ("options", "scalar_type", "dtype", "type"):
            return DTypeName(owner.dtype)
        if name == "sizes":
            return list(owner.shape)
        if name in ("is_cuda", "device", "get_device"):
            return True
        return self.torch.method(owner, name)(*(self._value(a, scope) for a in given))

    def _launched(self, function: Node, launch: Node, given: Sequence[Node], scope: dict[str, Any]) -> None:
        bare = text_of(function).partition("<")[0].rpartition("::")[2].strip()
        kernel = self._file.kernel(bare)
        if kernel is None:
            raise NotEvaluableError(f"a launch of {bare}, which the extension does not define")
        shape = [self._value(c, scope) for c in launch.named_children[:2]]
        grid, block = (v.extents if isinstance(v, _Dim3) else (int(v),) for v in shape)
        shared = int(self._value(launch.named_children[2], scope)) if len(launch.named_children) > 2 else 0
        types = next((c for c in function.named_children if c.type == "template_argument_list"), None)
        template = (
            tuple(self._types.get(text_of(c), text_of(c)) for c in types.named_children) if types else ()
        )
        names = [p.name for p in kernel.parameters]
        values: dict[str, object] = {}
        for parameter, node in zip(kernel.parameters, given, strict=False):
            value = self._value(node, scope)
            values[parameter.name] = (
                value if isinstance(value, Tensor) else _scalar(str(parameter.type), value)
            )
        if set(names) - set(values):
            raise NotEvaluableError(f"a launch of {bare} without all its arguments")
        cut = device_slice(self._file, (bare,), lambda _name: None, self.label, template, "")
        spec = LaunchSpec(tuple(map(str, grid)), tuple(map(str, block)), str(shared))
        program = Program("cuda", cut.text, bare, spec, template_arguments=template, name=self.label)
        self.emulation.launch(program, names, values)


def _scalar(parameter: str, value: Any) -> object:
    """A number as the kernel's parameter has it."""
    if not isinstance(value, int | float | np.generic):
        return value
    kind = parameter.replace("const", "").replace("&", "").strip()
    dtype = DTYPES.get(_plain(kind), "int32" if isinstance(value, int) else "float32")
    return Scalar(float(value) if dtype.startswith("float") else int(value), dtype)


def _plain(kind: str) -> str:
    """PyTorch's names of the host for types as CUDA's own."""
    return {"at::Half": "half", "at::BFloat16": "nv_bfloat16"}.get(kind, kind)
