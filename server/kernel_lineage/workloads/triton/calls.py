"""What a call in host code gives: a function or a class of the repository, or a function of Python or torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kernel_lineage.workloads.device_size import multiprocessors
from kernel_lineage.workloads.triton.attributes import attribute_of
from kernel_lineage.workloads.triton.classes import decorators, made_of, method_of, torch_base
from kernel_lineage.workloads.triton.command_line import command_line, declare_option
from kernel_lineage.workloads.triton.device_facts import asked_of_surroundings, near_memory
from kernel_lineage.workloads.triton.dtypes import limits_of, promoted
from kernel_lineage.workloads.triton.elements import listed
from kernel_lineage.workloads.triton.host_modules import HostModule, defaults_of, unwrapped
from kernel_lineage.workloads.triton.in_place import change_in_place
from kernel_lineage.workloads.triton.indices import stored_by
from kernel_lineage.workloads.triton.objects import (
    TENSOR_DESCRIPTOR,
    Attribute,
    Class,
    Frame,
    Function,
    Instance,
    Method,
    Names,
    Stopped,
)
from kernel_lineage.workloads.triton.parts import SPLITS, split_sizes
from kernel_lineage.workloads.triton.python_builtins import builtin_function, container_method
from kernel_lineage.workloads.triton.statements import assign
from kernel_lineage.workloads.triton.tensor_shapes import is_float
from kernel_lineage.workloads.triton.timing import timed, timed_by_object
from kernel_lineage.workloads.triton.torch_bases import begin_as_torch
from kernel_lineage.workloads.triton.torch_functions import tensor_function, torch_function
from kernel_lineage.workloads.triton.torch_modules import called_module, made_module, parameters_of_module
from kernel_lineage.workloads.triton.values import Dtype, External, Open, Size, Tensor, Unknown, product

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader

_PROCESSOR_COUNT = re.compile(
    r"(num|count|get)_?.*(sms?|core|processor)s?(_count)?$|(sm|core|processor)s?_count"
)
_ITSELF = frozenset(
    {"to", "cuda", "half", "bfloat16", "float", "eval", "train", "requires_grad_", "npu", "double"}
)
_RAISES = frozenset({"pytest.skip", "pytest.fail", "pytest.importorskip", "sys.exit"})
_WRAPS = frozenset({"torch.compile", "torch.jit.script", "torch.compiler.disable", "torch._dynamo.disable",
                    "torch.compiler.allow_in_graph", "functools.cache", "functools.lru_cache"})  # fmt: skip
"""Functions that give a function which does the same."""
_BUILDS = frozenset({"torch.utils.cpp_extension.load_inline", "torch.utils.cpp_extension.load"})
"""Functions that build an extension, and give the module of its functions."""
_OF_ELEMENTS = frozenset({"torch.tensor", "torch.as_tensor"})
"""Functions that are given elements, not extents."""
_BESIDE_VALUES = frozenset({"torch.randint", "torch.full"})
"""Functions whose sizes are a tuple; their other numbers are values of elements."""
_OF_AXES = frozenset({"transpose", "swapaxes", "movedim", "permute", "size", "stride"})
"""Methods that are given axes."""
_OPEN_KEEPS = frozenset({"contiguous", "clone", "detach", "cuda", "requires_grad_"})


def read_call(frame: Frame, node: ast.Call) -> object:
    """What a call gives. Raises `Reached` at the launch that is looked for."""
    answer = _answer(frame, node)
    change_in_place(frame, node, answer)
    return answer


def _answer(frame: Frame, node: ast.Call) -> object:
    reader = frame.reader
    match node.func:
        case ast.Subscript(value=of) | ast.Attribute(value=of, attr="run"):
            kernel = frame.evaluate(unwrapped(of))
            if _counted(frame, node, kernel):
                return None
            if isinstance(kernel, Function):
                _stored(frame, node, kernel)
                return None
    if reader.makes_dims(frame.module) and ast.unparse(node.func).startswith("torch."):
        _name_examples(frame, node)
    args = [e for a in node.args for e in frame.spread(a)]
    named = frame.named(node.keywords)
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        return External("super")
    if isinstance(node.func, ast.Attribute):
        receiver = frame.evaluate(node.func.value)
        if receiver == External("super"):
            return _above(frame, node.func.attr, args, named)
        answer = _method_call(reader, receiver, node.func.attr, args, named)
        if answer is not None:
            return answer[0]
    function = (
        attribute_of(reader, receiver, node.func.attr)
        if isinstance(node.func, ast.Attribute)
        else frame.evaluate(node.func)
    )
    if isinstance(function, External) and _counted(frame, node, function):
        return Unknown(f"what `{ast.unparse(node.func)}` gives")
    return called(reader, function, args, named)


def _counted(frame: Frame, node: ast.Call, kernel: object) -> bool:
    """Whether a call launches what is looked for, and others of it count. Raises `Reached` where this one does."""
    reader = frame.reader
    if not reader.is_target(kernel) or reader.only not in (None, node):
        return False
    reader.arrive(node, frame, kernel)
    return True


def _stored(frame: Frame, node: ast.Call, kernel: Function) -> None:
    """What a launch before the one that is looked for stores to holds no longer what the host had put there."""
    if isinstance(kernel.node, ast.Lambda):
        return
    passed = dict(zip((a.arg for a in kernel.node.args.args), node.args, strict=False))
    passed |= {k.arg: k.value for k in node.keywords if k.arg}
    for parameter in stored_by(kernel.node) & passed.keys():
        host = passed[parameter]
        tensor = frame.names.get(host.id) if isinstance(host, ast.Name) else None
        if isinstance(host, ast.Name) and isinstance(tensor, Tensor):
            frame.names[host.id] = replace(tensor, values="", cleared=False)


def _name_examples(frame: Frame, node: ast.Call) -> None:
    """A number that a test names and makes a tensor with is a dim wherever the test uses the name.

    A table names its numbers by their keys, `case["tokens"]`, an object by its attributes.
    """
    reader = frame.reader
    for part in (e for a in node.args for e in (a.elts if isinstance(a, (ast.Tuple, ast.List)) else [a])):
        name = _name_of(part)
        if not name.isidentifier() or type(number := frame.evaluate(part)) is not int:
            continue
        dim = reader.named_example(name, number)
        if not isinstance(part, ast.Name) or name in frame.names:
            assign(frame, part, dim)
        else:
            reader.globals[(str(frame.module.path), name)] = dim


def _name_of(extent: ast.expr) -> str:
    match extent:
        case (
            ast.Name(id=str() as name)
            | ast.Attribute(attr=str() as name)
            | ast.Subscript(slice=ast.Constant(value=str() as name))
        ):
            return name
    return ""


def _above(frame: Frame, name: str, args: list[object], named: Mapping[str, object]) -> object:
    """`super().name(…)` inside a method, whose first parameter is the object."""
    of = next((v for v in frame.names.values() if isinstance(v, Instance)), None)
    inside = frame.names.get("__class__")
    if of is None or isinstance(of.of, str):
        return None
    function = method_of(frame.reader, of.of, name, above=inside if isinstance(inside, Class) else of.of)
    if function is not None:
        return frame.reader.enter(function, [of, *args], named)
    base = torch_base(frame.reader, of.of)
    if name == "__init__" and base is not None:
        begin_as_torch(frame.reader, base, of, args, named)
    if name == "forward" and base is not None:
        return called_module(Instance(base.rpartition(".")[2], of.attributes), args)
    return None


def _method_call(
    reader: Reader, of: object, name: str, args: list[object], named: Mapping[str, object]
) -> tuple[object] | None:
    """What methods give that are no functions of the repository, in a tuple; None for those that are attributes."""
    if isinstance(of, Tensor):
        reader.uses(name, of, args, named)
    if isinstance(of, Class) and name == "apply":
        return (_applied(reader, of, args, named),)
    if isinstance(of, Instance):
        if of.of == "ArgumentParser":
            return (declare_option(of, name, args, named),)
        return _of_instance(reader, of, name, args)
    if isinstance(of, Open) and name in _OPEN_KEEPS:
        return (of,)
    of = reader.opened(of, name)
    if name in _OF_AXES and isinstance(of, Tensor):
        axes = [a for g in args for a in (g if isinstance(g, (tuple, list)) else [g]) if type(a) is int]
        most = max((a + 1 if a >= 0 else -a for a in axes), default=0)
        reader.wants(of, [""] * max(most, len(axes) if name == "permute" else 0))
    if (
        name in ("sum", "count_nonzero")
        and not reader.is_exact
        and isinstance(of, Tensor)
        and of.dtype == "bool"
        and of.shape
        and not args
    ):
        reader.say("as many elements keep a condition that is counted as there are")
        return (Tensor("", (), "int64", listed([product(of.shape)])),)
    if name == "item" and isinstance(of, Tensor) and (one := reader.element(of)) is not None:
        return (one,)
    if isinstance(of, Tensor):
        if name in SPLITS:
            name, args, named = "split", [*split_sizes(reader, name, of, args, named)], {}
        return (reader.of_torch(name, [of, *args], named, tensor_function(name, of, args, named)),)
    if isinstance(of, (list, dict, tuple, set, str, range, Size)) or type(of) is int:
        return (container_method(reader, of, name, args, named),)
    return (of,) if isinstance(of, Unknown) else None


def _of_instance(reader: Reader, of: Instance, name: str, args: list[object]) -> tuple[object] | None:
    if name == "save_for_backward":
        of.attributes["saved_tensors"] = tuple(args)
        return (None,)
    if name in ("mark_non_differentiable", "set_materialize_grads", "mark_dirty"):
        return (None,)
    if name in ("register_buffer", "register_parameter") and len(args) > 1 and isinstance(args[0], str):
        value = args[1]
        of.attributes[args[0]] = replace(value, name=args[0]) if isinstance(value, Tensor) else value
        return (None,)
    if (answer := timed_by_object(reader, of, name, partial(_bare, reader))) is not None:
        return answer
    if not isinstance(of.of, str) and method_of(reader, of.of, name) is not None:
        return None
    if name == "parameters":
        return (list(parameters_of_module(of)),)
    return (of,) if name in _ITSELF else None


def _applied(reader: Reader, of: Class, args: list[object], named: Mapping[str, object]) -> object:
    """`Function.apply(…)` of autograd: the forward with a context, which the backward gets later."""
    forward = method_of(reader, of, "forward")
    if forward is None:
        return Unknown(f"{of.name}.apply(…)")
    context, setup = Instance(of), method_of(reader, of, "setup_context")
    result = reader.enter(forward, args if setup is not None else [context, *args], named)
    if setup is not None:
        reader.enter(setup, [context, tuple(args), result], {})
    reader.applied.append((context, result))
    return result


def backward(reader: Reader) -> None:
    """What autograd does behind a test that calls `backward`: gradients have the shapes of what was given."""
    for context, result in reversed(reader.applied):
        function = method_of(reader, context.of, "backward") if isinstance(context.of, Class) else None
        if function is None or not isinstance(function.node, ast.FunctionDef):
            continue
        results = result if isinstance(result, tuple) else (result,)
        gradients = (Tensor("", r.shape, r.dtype) if isinstance(r, Tensor) else r for r in results)
        with suppress(Stopped):
            reader.enter(function, [context, *gradients], {})


def called(reader: Reader, function: object, args: list[object], named: Mapping[str, object]) -> object:
    """What is given by a call of a value."""
    match function:
        case Class():
            return made_of(reader, function, args, named)
        case Method(function=inner, of=of):
            return _entered(reader, inner, [of, *args], named)
        case Function():
            return _entered(reader, function, args, named)
        case Instance(of=Class() as cls):
            method = method_of(reader, cls, "__call__") or method_of(reader, cls, "forward")
            if method is not None:
                return _entered(reader, method, [function, *args], named)
            return Unknown(f"{cls.name}(…)")
        case Instance(
            of="partial", attributes={"function": inside, "given": list(first), "named": dict(more)}
        ):
            return called(reader, inside, [*first, *args], {**more, **named})
        case Instance(of="Sequential", attributes={"layers": list(layers)}) if len(args) == 1:
            value = args[0]
            for layer in layers:
                value = called(reader, layer, [value], {})
            return value
        case Instance():
            return called_module(function, args)
        case Attribute(of=of, name=name):
            answer = _method_call(reader, of, name, args, named)
            return answer[0] if answer is not None else Unknown(f".{name}(…)")
        case External():
            return _external(reader, function.name, args, named)
    return function if isinstance(function, Unknown) else Unknown("a call")


def _bare(reader: Reader, function: object) -> object:
    """What a value gives that is called without arguments."""
    return called(reader, function, [], {})


def _entered(reader: Reader, function: Function, args: list[object], named: Mapping[str, object]) -> object:
    if not isinstance(function.node, ast.Lambda) and decorators(function.node) & {"jit"}:
        return Unknown(f"{function.node.name}(…)")
    value = reader.enter(function, args, named)
    name = "" if isinstance(function.node, ast.Lambda) else function.node.name
    if not isinstance(value, (Unknown, External)):
        return value
    if _PROCESSOR_COUNT.search(name):
        return reader.dim(name.removeprefix("get_"), multiprocessors(), "it depends on the device")
    memory = near_memory(reader, name)
    return memory if memory is not None else value


def _external(reader: Reader, name: str, args: list[object], named: Mapping[str, object]) -> object:
    reader.uses(name, None, args, named)
    if name in _RAISES:
        raise Stopped(name)
    if name in _BUILDS:
        return External(name)
    if (answer := timed(reader, name, args, named, partial(_bare, reader))) is not None:
        return answer[0]
    if name in _WRAPS and len(args) == 1 and isinstance(args[0], (Function, Method)):
        return args[0]
    answer = asked_of_surroundings(reader, name, args, named)
    if answer is not None:
        return answer[0]
    last, of_torch = name.rpartition(".")[2], name.startswith("torch.")
    if (
        not name.startswith(("torch.", "triton."))
        or last in ("Config", "constexpr")
        or TENSOR_DESCRIPTOR in name
    ):
        value = builtin_function(reader, name, args, named)
        if not isinstance(value, Unknown):
            return value
    args = [_opened(reader, g) if of_torch else g for g in args]
    if name == "torch.promote_types" and len(args) == 2:
        names = [a.name for a in args if isinstance(a, Dtype)]
        common = promoted(*names) if len(names) == 2 else None
        return Dtype(common) if common is not None else Unknown("torch.promote_types(…)")
    if name in ("torch.finfo", "torch.iinfo") and args and isinstance(args[0], Dtype):
        limits = limits_of(args[0].name)
        if limits is not None:
            return Instance(name, dict(limits))
    parser = command_line(name)
    if parser is not None:
        return parser
    module = made_module(name, args, named)
    if module is not None:
        return module
    examples = of_torch and reader.dims_down_to and reader.depth <= 1
    if examples and name not in _OF_ELEMENTS:
        sizes = (tuple, list) if name in _BESIDE_VALUES else object
        args = [reader.example(g) if isinstance(g, sizes) else g for g in args]
        named = {k: reader.example(v) if k == "size" else v for k, v in named.items()}
    if of_torch and last in SPLITS and args and isinstance(args[0], Tensor):
        args, named = [args[0], *split_sizes(reader, last, args[0], args[1:], named)], {}
        name = "torch.split"
    value = reader.of_torch(name, args, named, torch_function(name, args, named))
    if examples and name in _OF_ELEMENTS and isinstance(value, Tensor) and value.shape and is_float(value):
        # Numbers that are written out one by one: how many there are is an example too.
        value = replace(value, shape=tuple(map(reader.example_extent, value.shape)))
    if isinstance(value, Unknown) and last[:1].isupper() and not name.startswith(("torch.", "triton.")):
        return Instance(last, dict(named))
    return value


def _opened(reader: Reader, value: object) -> object:
    """What torch is given, with parameters as the tensors that they are used as; those of a list too."""
    if isinstance(value, (list, tuple)):
        return type(value)(_opened(reader, v) for v in value)
    return reader.opened(value, "shape")


def bound(
    arguments: ast.arguments,
    args: list[object],
    named: Mapping[str, object],
    reader: Reader,
    module: HostModule,
) -> Names:
    """The parameters of a function by what a call gives; one that it does not give has its default, or is open."""
    listed, defaults = [*arguments.posonlyargs, *arguments.args], defaults_of(arguments)
    names: Names = {}
    for position, argument in enumerate([*listed, *arguments.kwonlyargs]):
        name = argument.arg
        if position < min(len(args), len(listed)):
            value = args[position]
        elif name in named:
            value = named[name]
        else:
            value = reader.read(defaults[name], module) if name in defaults else Open(name)
        if isinstance(value, Tensor) and not value.name:
            value = replace(value, name=name)
        elif isinstance(value, Size):
            reader.called_as.setdefault(value.text, name)
        names[name] = value
    if arguments.vararg is not None:
        names[arguments.vararg.arg] = tuple(args[len(listed) :])
    if arguments.kwarg is not None:
        names[arguments.kwarg.arg] = {k: v for k, v in named.items() if k not in names}
    return names
