"""A workload drafted from a Triton kernel's launch and from the tests and benchmarks that use its module.

What no code of the repository tells is missing, or is chosen and said to be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_loops import stepped_over
from kernel_lineage.workloads.benchmarked_sizes import with_benchmarks
from kernel_lineage.workloads.model import CHOSEN, UNTYPED, USUALLY_TAKEN, Draft, DraftArgument, Taken
from kernel_lineage.workloads.triton.arguments import Defaults, as_tensor, buffer, constant, scalar
from kernel_lineage.workloads.triton.cases import other_sizes
from kernel_lineage.workloads.triton.chosen_shapes import Chosen
from kernel_lineage.workloads.triton.descriptors import aligned, taken_apart
from kernel_lineage.workloads.triton.grid import grid_of, option_of
from kernel_lineage.workloads.triton.host_modules import HostModule, module_of
from kernel_lineage.workloads.triton.indices import counts_of, indices_of
from kernel_lineage.workloads.triton.launch_arguments import given_at, passed_at
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.named_dims import with_named_dims
from kernel_lineage.workloads.triton.promises import each_once, promises_of, unmasked
from kernel_lineage.workloads.triton.roles import Touch, roles_of, touches_of
from kernel_lineage.workloads.triton.shapes import shapes_by_addresses, strides_alike
from kernel_lineage.workloads.triton.sites import Site, sites_of, standing_in
from kernel_lineage.workloads.triton.strided_axes import Axes, further_axes
from kernel_lineage.workloads.triton.usages import Usage, usages_of
from kernel_lineage.workloads.triton.values import Open, Tensor, Unknown, is_number, product, text_of
from kernel_lineage.workloads.triton.ways import Reading, Ways, left_out, may_be_none
from kernel_lineage.workloads.triton.windows import shapes_by_windows

MOST_READINGS = 60


def triton_drafts(
    kernel: Kernel, path: Path, modules: Modules, taken: Taken, axes: Axes | None = None
) -> Iterator[Draft]:
    """The drafts of a Triton kernel, one for each way to one of its launches; `modules` are the repository's, and
    `axes` those of tensors that nobody gives, as the kernel walks along them.
    """
    if kernel.source is None or kernel.source.module is None or kernel.function is None:
        return
    own = own_module(path, kernel.source.module, modules)
    touches = touches_of(kernel)
    sites = sites_of(kernel.name, own, modules)
    unshaped: set[str] = set()
    strided: Axes = {}
    tested = False
    timed: tuple[Draft, ...] | None = None
    for reading, defaults in islice(
        readings(kernel.function, own, sites, modules, taken, axes), MOST_READINGS
    ):
        if reading.chosen is not None:
            tensors = _handed(kernel, reading)
            if not axes and (further := further_axes(touches, tensors)):
                yield from triton_drafts(kernel, path, modules, taken, further)
                return
            strided |= further_axes(touches, tensors, unshaped=True)
        tested = tested or reading.tested
        if tested:
            # What callers leave open is asked for: only where nobody calls are numbers chosen.
            reading.chosen = None
        draft = _draft(kernel, path, own, reading, touches, defaults)
        if reading.tested and not draft.missing:
            if timed is None:
                users = of_users(kernel.function, own, sites, modules, Ways.timed_in)
                timed = tuple(_draft(kernel, path, own, one, touches, others) for one, others in users)
            yield from with_benchmarks(draft, timed)
        else:
            yield draft
        unshaped |= reading.unshaped
    if not tested and not strided.keys() <= (axes or {}).keys():
        yield from triton_drafts(kernel, path, modules, taken, {**(axes or {}), **strided})
    # What may be left out is left out where nothing tells its shape.
    absent = frozenset[str]().union(*(may_be_none(site.module, unshaped) for site in sites))
    optional = absent.union(*(left_out(site.module, site.launcher) for site in sites))
    for names in dict.fromkeys((absent, optional)):
        ways = Ways(kernel.function, modules, taken, absent=names)
        for reading in ways.from_functions(sites) if names else ():
            reading.chosen = None if tested else reading.chosen
            yield _draft(kernel, path, own, reading, touches, {})


def _handed(kernel: Kernel, reading: Reading) -> dict[str, object]:
    """What a launch gives to each parameter: tensors for what nobody gives, as far as the host code asks of them."""
    passed = passed_at(kernel, reading)
    return {p: as_tensor(v, reading) if isinstance(v, Open) else v for p, v in passed.items()}


def drafts_of_callers(kernel: Kernel, path: Path, modules: Modules) -> Iterator[Draft]:
    """The drafts of all launches to which tests of a Triton kernel come: with other dtypes and flags than the first."""
    if kernel.source is None or kernel.source.module is None or kernel.function is None:
        return
    own = own_module(path, kernel.source.module, modules)
    sites, touches = sites_of(kernel.name, own, modules), touches_of(kernel)
    for reading, defaults in of_users(kernel.function, own, sites, modules, Ways.others_from_tests):
        yield _draft(kernel, path, own, reading, touches, defaults)


def of_users(
    target: ast.FunctionDef,
    own: HostModule,
    sites: Sequence[Site],
    modules: Modules,
    readings_of: Callable[[Ways, Sequence[Usage]], Iterator[Reading]],
) -> Iterator[tuple[Reading, Defaults]]:
    """Some launches of a kernel, or calls of a host function, to which users come."""
    usages, defaults, seen, notes = _users(sites[0].module if sites else own, modules)
    for reading in islice(readings_of(Ways(target, seen, USUALLY_TAKEN), usages), MOST_READINGS):
        reading.said[:0] = notes
        yield reading, defaults


def own_module(path: Path, tree: ast.Module, modules: Modules) -> HostModule:
    """The module of a tree, which the repository's modules have from now on."""
    own = modules.known.get(path.resolve())
    if own is None or own.tree is not tree:
        own = module_of(path.resolve(), tree)
        modules.known[own.path] = own
    return own


def readings(
    target: ast.FunctionDef,
    own: HostModule,
    sites: Sequence[Site],
    modules: Modules,
    taken: Taken,
    axes: Axes | None = None,
) -> Iterator[tuple[Reading, Defaults]]:
    """The ways to the launches of a kernel, or to the calls of a host function, those that tell most first.

    `axes` are those of tensors that nobody gives, as kernels walk along them.
    """
    usages, defaults, seen, notes = _users(sites[0].module if sites else own, modules)
    ways = Ways(target, seen, taken, axes=axes or {})
    for reading in ways.from_tests(usages):
        reading.said[:0] = notes
        yield reading, defaults
    for reading in ways.from_examples(sites):
        reading.said[:0] = notes
        yield reading, defaults
    for reading in ways.from_functions(sites):
        yield reading, defaults


_Users = tuple[tuple[Usage, ...], Defaults, Modules, tuple[str, ...]]


def _users(module: HostModule, modules: Modules) -> _Users:
    """The tests of a module, numbers by name, how its users are to be read, and what is said of that."""
    if module.path not in modules.concluded:
        usages, defaults = usages_of(module, modules)
        users: _Users = usages, defaults, modules, ()
        for there, seen in standing_in(module, modules) if not usages else ():
            usages, more = usages_of(module, seen)
            if usages:
                text = f"{there.relative_to(modules.folder)} is tested, and this module is read in its place"
                users = usages, {**more, **defaults}, seen, (text,)
                break
        modules.concluded[module.path] = users
    conclusion: _Users = modules.concluded[module.path]
    return conclusion


def _draft(
    kernel: Kernel,
    path: Path,
    own: HostModule,
    reading: Reading,
    touches: tuple[Touch, ...],
    defaults: Defaults,
) -> Draft:
    """The draft of one way to a launch."""
    args, options = given_at(kernel, own, reading)
    args, blocks = taken_apart(args, reading)
    roles = roles_of(touches)
    indices = indices_of(kernel.function) if kernel.function is not None else frozenset()
    pointers = [p for p in kernel.parameters if not p.constexpr and _is_pointer(p.name, roles, args)]
    tensors = {p.name: as_tensor(args.get(p.name), reading) for p in pointers}
    guessed = _guessed_alone(tensors, args, reading)
    tensors.update({n: replace(t, shape=None) for n, (t, _) in guessed.items()})
    with_shape = {n: t for n, t in tensors.items() if t is not None and t.shape is not None}
    args = {**args, **{n: t for n, t in tensors.items() if t is not None}}
    windows = shapes_by_windows(kernel, args, reading.reader.sizes)
    prefixes = {n: (s, "is that of the window that the kernel makes on it") for n, s in windows.items()}
    concluded = shapes_by_addresses(touches, args, with_shape)
    prefixes |= {n: (s, "is concluded from how the kernel addresses it") for n, s in concluded.items()}
    for name, (shape, why) in prefixes.items():
        tensor = tensors.get(name)
        if tensor is not None and tensor.shape is None:
            values = tensor.values
            if name in guessed:
                values = re.sub(rf"\b{guessed[name][1]}\b", text_of(product(shape)), values)
            tensors[name] = replace(tensor, shape=shape, values=values)
            reading.said.append(f"the shape of {name} {why}")
    if reading.chosen is not None:
        shaped = {n: t for n, t in tensors.items() if t is not None and t.shape is not None}
        args = {**args, **strides_alike(args, shaped, reading.said)}
        args.update(_chosen_numbers(kernel, args, reading.chosen, {p.name for p in pointers}))
    constexpr: dict[str, str] = {}
    arguments: list[DraftArgument] = []
    for parameter in kernel.parameters:
        name = parameter.name
        value = args.get(name, Unknown("the launch, which does not give it"))
        if parameter.constexpr or value is None:
            text = constant(parameter, value, tensors, defaults, reading)
            if text is not None:
                constexpr[name] = text
        elif name in tensors:
            role = roles.get(name, "input")
            own_buffer = buffer(name, tensors[name], value, role, name in indices, reading)
            arguments.append(replace(own_buffer, descriptor=blocks.get(name, ())))
        else:
            arguments.append(scalar(parameter, value, tensors, defaults, reading))
    grid = grid_of(reading, constexpr, args)
    numbers = {a.name: str(a.value) for a in arguments if a.kind == "scalar" and a.value is not None}
    warps, stages = (
        option_of(options.get(n, d), n, reading) for n, d in (("num_warps", 4), ("num_stages", 3))
    )
    notes = [*reading.said, *reading.reader.said, *reading.reader.decided]
    untyped = tuple(f"{UNTYPED}{name};" for name in reading.reader.typed)
    notes = [s for s in notes if not s.startswith(untyped)]
    tiles = unmasked(kernel, {**numbers, **constexpr}, grid, reading.reader.sizes)
    stated = {p.replace("(", "").replace(")", "") for p in reading.reader.promises}
    notes += [note for p, note in tiles.items() if p.replace("(", "").replace(")", "") not in stated]
    draft = Draft(
        kernel.name,
        kernel.language,
        path.name,
        {},
        {},
        tuple(arguments),
        grid,
        constexpr=constexpr,
        num_warps=warps,
        num_stages=stages,
        promises=(
            *reading.reader.promises,
            *promises_of(kernel, {**numbers, **constexpr}, grid, reading.reader.sizes),
            *tiles,
            *each_once(arguments, reading.reader.sizes),
            *dict.fromkeys(filter(None, (aligned(a) for a in arguments if a.descriptor))),
        ),
        assumed=tuple(dict.fromkeys(notes)),
        missing=tuple(dict.fromkeys(reading.missing)),
        way=reading.way,
        stepped=stepped_over(kernel.function) if kernel.function is not None else (),
        tested=reading.tested,
    )
    draft = with_named_dims(draft, reading.reader, reading.constants)
    draft = replace(draft, others=other_sizes(draft.dims, reading.cases))
    if not reading.fixed:
        return draft
    only = tuple(f"{name} == {size}" for name, size in draft.dims.items())
    why = "the numbers that the test writes out hold at its own sizes alone"
    return replace(draft, promises=(*draft.promises, *only), assumed=(*draft.assumed, why), others=())


def _guessed_alone(
    tensors: Mapping[str, Tensor | None], args: Mapping[str, object], reading: Reading
) -> dict[str, tuple[Tensor, str]]:
    """Pointer → its tensor and a dim, where only tensors have that dim and no code says how many axes they have.

    Such a dim is a guess that nothing holds to the others: the kernel tells better how far it reaches.
    """
    guesses = reading.chosen.rankless if reading.chosen is not None else {}
    if not guesses:
        return {}
    grid = grid_of(replace(reading, missing=[]), {}, args)
    others = [text_of(v) for v in args.values() if is_number(v)]
    used = {*re.findall(r"\w+", " ".join((*grid, *others)))}
    alone: dict[str, tuple[Tensor, str]] = {}
    for pointer, tensor in tensors.items():
        names = {*re.findall(r"\w+", " ".join(map(text_of, tensor.shape or ())))} if tensor else set()
        dim = next(iter(names & guesses.keys() - used), None)
        if tensor is not None and dim is not None and grid and used & {*reading.reader.sizes}:
            alone[pointer] = tensor, dim
    notes = [f"{dim}{CHOSEN}" for _, dim in alone.values()]
    notes += [f"{guesses[d]} is taken to have the shape ({d})" for _, d in alone.values()]
    reading.said[:] = [note for note in reading.said if note not in notes]
    return alone


def _chosen_numbers(
    kernel: Kernel, arguments: Mapping[str, object], chosen: Chosen, pointers: Collection[str]
) -> dict[str, object]:
    """The numbers of a launch that no caller tells: a whole one where the kernel counts elements with it."""
    counts = counts_of(kernel.function) if kernel.function is not None else frozenset()
    return {
        p.name: chosen.number(value.name, p.name in counts)
        for p in kernel.parameters
        if isinstance(value := arguments.get(p.name), Open) and not p.constexpr and p.name not in pointers
    }


def _is_pointer(name: str, roles: Mapping[str, object], arguments: Mapping[str, object]) -> bool:
    value = arguments.get(name)
    return isinstance(value, Tensor) or (name in roles and value is not None and not is_number(value))
