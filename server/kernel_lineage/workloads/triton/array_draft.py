"""A workload drafted from a CUDA C++ kernel that Python launches by itself: CuPy's `RawKernel`, PyCUDA's functions.

The host code is read as that of a Triton kernel, in torch's words; types are those of the kernel's parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from kernel_gate.dtypes import DTYPES
from kernel_lineage.kernels.python_text import module_of as python_module
from kernel_lineage.kernels.reading import AS_WRITTEN
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.workloads.following.roles import roles_of
from kernel_lineage.workloads.model import NULL, UNTYPED, Draft, DraftArgument, Taken
from kernel_lineage.workloads.triton.arguments import (
    Defaults,
    as_tensor,
    buffer,
    is_expression,
    scalar,
    why_unknown,
)
from kernel_lineage.workloads.triton.array_modules import BLOCK, SHARED, as_torch, name_of
from kernel_lineage.workloads.triton.cases import other_sizes
from kernel_lineage.workloads.triton.draft import MOST_READINGS, readings
from kernel_lineage.workloads.triton.grid import grid_of
from kernel_lineage.workloads.triton.host_modules import module_of
from kernel_lineage.workloads.triton.launch_arguments import given_at
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.named_dims import with_named_dims
from kernel_lineage.workloads.triton.promises import each_once
from kernel_lineage.workloads.triton.sites import sites_of
from kernel_lineage.workloads.triton.values import Open, Tensor, Unknown, product, text_of
from kernel_lineage.workloads.triton.ways import Reading


def array_drafts(kernel: Kernel, path: Path, modules: Modules, taken: Taken) -> Iterator[Draft]:
    """The drafts of a kernel in a string of a Python file, one for each way to a launch that the file makes itself."""
    text = kernel.source.derived.get(AS_WRITTEN) if kernel.source is not None else None
    if kernel.source is None or not isinstance(text, bytes):
        return
    host = module_of(path.resolve(), python_module(text).tree)
    own = as_torch(host, kernel.source.kernels)
    seen = replace(modules, known={own.path: own}, concluded={}, reworded=as_torch)
    function = own.functions[name_of(kernel.name)]
    asked = replace(kernel, name=name_of(kernel.name), function=function)
    sites = sites_of(asked.name, own, seen)
    tested = False
    for reading, defaults in islice(readings(function, own, sites, seen, taken), MOST_READINGS):
        tested = tested or reading.tested
        if tested:
            reading.chosen = None
        args, options = given_at(asked, own, reading)
        yield _draft(kernel, path, reading, args, options, defaults)


def _draft(
    kernel: Kernel,
    path: Path,
    reading: Reading,
    args: Mapping[str, object],
    options: Mapping[str, object],
    defaults: Defaults,
) -> Draft:
    """The draft of one way to a launch."""
    roles = roles_of(kernel)
    tensors = {
        p.name: _typed(as_tensor(args.get(p.name), reading), p) for p in kernel.parameters if p.pointer
    }
    arguments: list[DraftArgument] = []
    for parameter in kernel.parameters:
        name = parameter.name
        value = args.get(name, Unknown("the launch, which does not give it"))
        if parameter.dtype is None:
            reading.missing.append(f"the dtype of {name}: nothing tells what `{parameter.type}` is")
        if parameter.pointer and value is None:
            arguments.append(DraftArgument(name, NULL, parameter.dtype))
        elif parameter.pointer:
            role = roles.get(name, "input")
            arguments.append(buffer(name, tensors[name], value, role, False, reading))
        else:
            if isinstance(value, Open) and reading.chosen is not None:
                is_whole = (parameter.dtype or "").startswith(("int", "uint"))
                value = reading.chosen.number(value.name, is_whole)
            argument = scalar(parameter, value, tensors, defaults, reading)
            arguments.append(replace(argument, dtype=parameter.dtype or argument.dtype))
    grid = grid_of(reading, {}, args)
    block = _extents("block", options.get(BLOCK), reading)
    shared = _extents("shared_bytes", options.get(SHARED), reading)
    notes = (*reading.said, *reading.reader.said, *reading.reader.decided)
    draft = Draft(
        kernel.name,
        kernel.language,
        path.name,
        {},
        {},
        tuple(arguments),
        grid,
        block,
        shared[0] if shared else "0",
        promises=(*reading.reader.promises, *each_once(arguments, reading.reader.sizes)),
        assumed=tuple(dict.fromkeys(note for note in notes if not note.startswith(UNTYPED))),
        missing=tuple(dict.fromkeys(reading.missing)),
        way=reading.way,
        tested=reading.tested,
    )
    draft = with_named_dims(draft, reading.reader, reading.constants)
    return replace(draft, others=other_sizes(draft.dims, reading.cases))


def _typed(tensor: Tensor | None, parameter: Parameter) -> Tensor | None:
    """A tensor with the type that the kernel reads it as; memory that is allocated by bytes has fewer elements then."""
    if tensor is None or parameter.dtype is None:
        return tensor
    shape = tensor.shape
    size = DTYPES[parameter.dtype].itemsize
    if shape is not None and tensor.dtype == "uint8" and size > 1:
        shape = (product(shape) // size,)
    return replace(tensor, shape=shape, dtype=parameter.dtype)


def _extents(what: str, value: object, reading: Reading) -> tuple[str, ...]:
    """Numbers of a launch; none, with what is missing, where one of them is not told."""
    extents = reading.reader.items_of(value) if isinstance(value, (tuple, list)) else [value]
    for extent in extents or ():
        if not is_expression(extent):
            reading.missing.append(f"the launch's {what}: {why_unknown(extent)}")
    whole = extents is not None and all(map(is_expression, extents))
    return tuple(map(text_of, extents or ())) if whole else ()
