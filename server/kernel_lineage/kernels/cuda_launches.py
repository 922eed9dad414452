"""Launch sites of CUDA C++: `<<<…>>>`, `cudaLaunchKernel` and its kin, directly, through macros and through launchers
that are given the kernel as an argument.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kernel_lineage.kernels.cuda_definitions import Definitions
from kernel_lineage.kernels.cuda_outline import Declaration
from kernel_lineage.kernels.cuda_text import Macro, Text, arguments, blank_literals, closing, one_line, split
from kernel_lineage.kernels.source import Launch

_CHEVRONS = re.compile(rb"<<<")
_END_OF_CHEVRONS = re.compile(rb">>>(?!>)\s*(?=\()|[()\[\]{};]")
_CALLEE = re.compile(
    rb"((?:::)?(?:[A-Za-z_]\w*\s*::\s*(?:template\s+)?)*[A-Za-z_]\w*|\(\s*\*?\s*[A-Za-z_]\w*\s*\))\s*(<[^;{}]*>)?\s*\Z"
)
_API = re.compile(rb"\b(cudaLaunchKernelExC?|cudaLaunchCooperativeKernel|cudaLaunchKernel)\s*\(")
_POINTER = re.compile(
    r"(?:\(\s*(?:const\s+)?void\s*\*\s*\)|(?:reinterpret|static)_cast\s*<[^<>]*>)?\s*\(?\s*&?\s*(.*?)\s*\)?",
    re.DOTALL,
)
_NAMED = re.compile(r"((?:\w+\s*::\s*)*)([A-Za-z_]\w*)\s*(?:<(.*)>)?\Z", re.DOTALL)
_ADDRESS = re.compile(r"&\s*(?:\w+\s*::\s*)*([A-Za-z_]\w*)\s*(?:<([^;?]*)>)?")
_LONGEST_LAUNCH = 20_000
"""Bytes in which a launch must end; without a bound, half-typed launches make a file slow to read."""
_MACRO_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Site:
    """A launch before its names are resolved."""

    callee: str
    template_arguments: tuple[str, ...]
    grid: str
    block: str
    shared_bytes: str | None
    stream: str | None
    arguments: tuple[str, ...]
    start: int
    end: int


def launches(text: Text, functions: Sequence[Declaration], kernels: frozenset[str]) -> tuple[Launch, ...]:
    """The launches of a file, in order. `kernels` are the names that a function pointer can be resolved to."""
    all_launches: list[Launch] = []
    passed_on: dict[str, list[tuple[Declaration, Site]]] = {}
    definitions = Definitions(text)
    names: dict[int, tuple[str, ...]] = {}
    for site in _sites(text, functions):
        launcher = _holder(functions, site.start)
        if launcher and site.callee not in kernels:
            if launcher.start not in names:
                names[launcher.start] = _parameter_names(text, launcher)
            if site.callee in names[launcher.start]:
                passed_on.setdefault(launcher.name, []).append((launcher, site))
                continue
        all_launches.extend(_resolved(text, site, launcher, kernels, definitions, {}))
    all_launches.extend(_through_launchers(text, functions, kernels, passed_on, definitions))
    return tuple(sorted(all_launches, key=lambda launch: (launch.span.start, launch.span.end)))


def _sites(text: Text, functions: Sequence[Declaration]) -> Iterator[Site]:
    yield from _chevron_sites(text.data, text.code)
    yield from _api_sites(text, functions)
    launching = {m.name: m for m in text.macros if "<<<" in m.body}
    for macro in text.macros:  # a macro that uses a launching macro launches too
        if macro.name not in launching and any(re.search(rf"\b{name}\b", macro.body) for name in launching):
            launching[macro.name] = macro
    for macro in launching.values():
        for match in re.finditer(rb"\b%s\b" % macro.name.encode(), text.code):
            end, actuals = _invocation(text, macro, match.end())
            if end is None:
                continue
            for site in _expanded_sites(macro, actuals, launching, _MACRO_DEPTH):
                yield replace(site, start=match.start(), end=end)


def _invocation(text: Text, macro: Macro, position: int) -> tuple[int | None, tuple[str, ...]]:
    if macro.parameters is None:
        return position, ()
    opening = re.compile(rb"\s*\(").match(text.code, position)
    if not opening:
        return None, ()
    close = closing(text.code, opening.end() - 1)
    if close is None:
        return None, ()
    return close + 1, arguments(text.read(opening.end(), close))


def _expanded_sites(
    macro: Macro, actuals: tuple[str, ...], macros: Mapping[str, Macro], depth: int
) -> Iterator[Site]:
    body = substituted(macro.body, bind(macro.parameters or (), actuals))
    body = re.sub(r"\s*##\s*", "", body)
    raw = body.encode()
    code = blank_literals(raw)
    yield from _chevron_sites(raw, code)
    if depth == 0:
        return
    for name, inner in macros.items():
        for match in re.finditer(rf"\b{name}\s*\(", body):
            close = closing(code, len(body[: match.end() - 1].encode()))
            if close is not None and name != macro.name:
                inside = raw[len(body[: match.end()].encode()) : close].decode("utf-8", "replace")
                yield from _expanded_sites(inner, arguments(inside), macros, depth - 1)


def bind(names: Sequence[str], actuals: Sequence[str]) -> dict[str, str]:
    """Parameter names → arguments; a variadic tail takes the rest."""
    bound: dict[str, str] = {}
    for index, name in enumerate(names):
        if name.endswith("..."):
            bound[name[:-3].strip() or "__VA_ARGS__"] = ", ".join(actuals[index:])
        elif index < len(actuals):
            bound[name] = actuals[index]
    return bound


def substituted(written: str, bound: Mapping[str, str]) -> str:
    """An expression with names replaced; `args...` takes a whole tail."""
    if not bound or not written:
        return written
    names = "|".join(re.escape(name) for name in bound)
    return re.sub(rf"(?<![\w.])({names})\b(?:\s*\.\.\.)?", lambda m: bound[m.group(1)], written)


def _chevron_sites(raw: bytes, code: bytes) -> Iterator[Site]:
    for match in _CHEVRONS.finditer(code):
        at = match.start()
        end = _end_of_chevrons(code, match.end())
        if end is None:
            continue
        opening = code.index(b"(", end)
        close = closing(code, opening, opening + _LONGEST_LAUNCH)
        if close is None:
            continue
        before, written = code[max(0, at - 400) : at], (code[at:end], raw[at:end])
        site = _chevron_site(before, *written, raw[opening + 1 : close].decode("utf-8", "replace"))
        if site is not None:
            yield replace(site, start=at + site.start, end=close + 1)


@lru_cache(maxsize=8192)
def _chevron_site(before: bytes, code: bytes, raw: bytes, passed: str) -> Site | None:
    """A launch as its text tells: what stands before, the configuration behind its `<<<`, and the arguments.

    Its start counts from the `<<<`.
    """
    callee = _callee(before)
    if callee is None:
        return None
    name, templates = callee
    config = [one_line(raw[a:b]) for a, b in split(code, len(b"<<<"), len(code))]
    config += [""] * (4 - len(config))
    return Site(
        callee=name.strip("()*& \n\t"),
        template_arguments=arguments(templates),
        grid=config[0],
        block=config[1],
        shared_bytes=config[2] or None,
        stream=config[3] or None,
        arguments=arguments(passed),
        start=before.rindex(name.lstrip("(*& ").encode()) - len(before),
        end=0,
    )


def _callee(before: bytes) -> tuple[str, str] | None:
    """The name before `<<<` and its template arguments."""
    stripped = before.rstrip()
    templates = b""
    if stripped.endswith(b">"):
        depth = inside = 0
        for position in range(len(stripped) - 1, -1, -1):
            character = stripped[position]
            inside += {ord(")"): 1, ord("("): -1}.get(character, 0)
            if inside == 0:
                depth += {ord(">"): 1, ord("<"): -1}.get(character, 0)
            if depth == 0 and inside == 0:
                templates = stripped[position + 1 : -1]
                stripped = stripped[:position]
                break
        else:
            return None
    if not stripped.endswith(b")"):
        # A search that is anchored at the end is slow on what stands before the name.
        stripped = stripped[max(map(stripped.rfind, b";{}(,=!")) + 1 :]
    match = _CALLEE.search(stripped)
    return (match.group(1).decode(), templates.decode("utf-8", "replace")) if match else None


def _end_of_chevrons(code: bytes, position: int) -> int | None:
    limit = position + _LONGEST_LAUNCH // 10
    while match := _END_OF_CHEVRONS.search(code, position, limit):
        token = match.group()
        if token.startswith(b">>>"):
            return match.start()
        if token in (b"(", b"[", b"{"):
            close = closing(code, match.start(), limit)
            if close is None:
                return None
            position = close + 1
        else:
            return None
    return None


def _api_sites(text: Text, functions: Sequence[Declaration]) -> Iterator[Site]:
    for match in _API.finditer(text.code) if b"cudaLaunch" in text.code else ():
        close = closing(text.code, match.end() - 1, match.end() + _LONGEST_LAUNCH)
        if close is None:
            continue
        actuals = arguments(text.read(match.end(), close))
        extended = match.group(1).startswith(b"cudaLaunchKernelEx")
        if len(actuals) < (2 if extended else 4):
            continue
        holder = _holder(functions, match.start())
        before = (holder.head_end if holder else 0, match.start())
        config = _configuration(text, actuals[0], before) if extended else None
        pointer = actuals[1] if extended else actuals[0]
        cast = _POINTER.fullmatch(pointer)
        named = _NAMED.match(cast.group(1)) if cast else None
        if named is None:
            continue
        passed = actuals[2:] if extended else _pointed_at(text, actuals[3], before)
        grid, block, shared, stream = config or (actuals[1], actuals[2], *[*actuals[4:6], "", ""][:2])
        yield Site(
            named.group(2),
            arguments(named.group(3) or ""),
            grid,
            block,
            shared or None,
            stream or None,
            passed,
            match.start(),
            close + 1,
        )


def _configuration(text: Text, written: str, before: tuple[int, int]) -> tuple[str, str, str, str]:
    """The members of a `cudaLaunchConfig_t` that is filled before a launch."""
    name = written.lstrip("&* ")
    members = []
    for member in (b"gridDim", b"blockDim", b"dynamicSmemBytes", b"stream"):
        pattern = rb"\b%s\s*\.\s*%s\s*=\s*([^;]*);" % (re.escape(name.encode()), member)
        assigned = list(re.compile(pattern).finditer(text.code, *before))
        members.append(text.read(*assigned[-1].span(1)).strip() if assigned else "")
    return members[0], members[1], members[2], members[3]


def _pointed_at(text: Text, written: str, before: tuple[int, int]) -> tuple[str, ...]:
    """The variables whose addresses an argument array holds."""
    pattern = rb"\b%s\s*(?:\[[^\]]*\])\s*=?\s*\{([^{}]*)\}" % re.escape(written.encode())
    held = list(re.compile(pattern).finditer(text.code, *before))
    listed = text.read(*held[-1].span(1)) if held else written[written.find("{") + 1 : written.rfind("}")]
    return tuple(re.sub(r"^\(\s*void\s*\*\s*\)\s*", "", a).lstrip("& ") for a in arguments(listed))


def _holder(functions: Sequence[Declaration], position: int) -> Declaration | None:
    index = bisect_right(functions, position, key=lambda f: f.head_end) - 1
    return functions[index] if index >= 0 and position < functions[index].end else None


def _parameter_names(text: Text, function: Declaration) -> tuple[str, ...]:
    names = []
    for a, b in split(text.code, *function.parameters):
        match = re.search(
            rb"(\.\.\.\s*)?(?:\(\s*[*&]\s*)?\b([A-Za-z_]\w*)\b[^\w]*\Z|\(\s*\*\s*(\w+)\s*\)",
            text.code[a:b].split(b"=")[0],
        )
        grouped = re.search(rb"\(\s*[*&]\s*(\w+)\s*\)", text.code[a:b])
        name = grouped.group(1) if grouped else match.group(2) if match and match.group(2) else b""
        names.append(name.decode() + ("..." if b"..." in text.code[a:b] else ""))
    return tuple(names)


def _resolved(
    text: Text,
    site: Site,
    launcher: Declaration | None,
    kernels: frozenset[str],
    definitions: Definitions,
    bound: Mapping[str, str],
) -> Iterator[Launch]:
    """The launches that a site stands for: one, or one for each kernel that a function pointer can hold."""
    callees = [(site.callee.rsplit("::", 1)[-1].strip(), site.template_arguments)]
    if callees[0][0] not in kernels and launcher is not None:
        held = definitions.all_of(callees[0][0], launcher, site.start)
        pointed = [
            (match.group(1), arguments(match.group(2) or ""))
            for value in held
            for match in re.finditer(r"\b([A-Za-z_]\w*)\s*(?:<([^;?]*)>)?", value)
            if match.group(1) in kernels
        ]
        elsewhere = [m for value in held if (m := _ADDRESS.fullmatch(value))]
        pointed += [(m.group(1), arguments(m.group(2) or "")) for m in elsewhere if m.group(1) not in kernels]
        callees = list(dict.fromkeys(pointed)) or callees
    expressions = [
        site.grid,
        site.block,
        site.shared_bytes or "",
        site.stream or "",
        *site.arguments,
        *site.template_arguments,
    ]
    values = definitions.used_by(expressions, launcher, site.start)
    for name, templates in callees:
        yield Launch(
            kernel=name,
            span=text.span(site.start, site.end),
            grid=dimensions(site.grid, values),
            block=dimensions(site.block, values),
            arguments=site.arguments,
            shared_bytes=site.shared_bytes,
            template_arguments=templates,
            options={"stream": site.stream} if site.stream else {},
            launcher=launcher.name if launcher else None,
            launcher_span=text.span(launcher.start, launcher.end) if launcher else None,
            definitions={**values, **bound},
        )


def dimensions(written: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """A grid or block as one expression per dimension; a `dim3` variable is given by its components."""
    for _ in range(4):
        match = re.fullmatch(r"(?:dim3|uint3)?\s*(?:\((.*)\)|\{(.*)\})", written, re.DOTALL)
        if match and (written.startswith(("dim3", "uint3", "{"))):
            return arguments(match.group(1) if match.group(1) is not None else match.group(2))
        if written not in values or not values[written].lstrip().startswith(("dim3", "uint3", "{")):
            break
        written = values[written]
    return (written,) if written else ()


def _through_launchers(
    text: Text,
    functions: Sequence[Declaration],
    kernels: frozenset[str],
    passed_on: Mapping[str, list[tuple[Declaration, Site]]],
    definitions: Definitions,
) -> Iterator[Launch]:
    """Launches in a function that takes the kernel as a parameter, seen from where it is called."""
    for name, held in passed_on.items():
        names = {launcher.start: _parameter_names(text, launcher) for launcher, _ in held}
        for call in re.finditer(rb"\b%s\s*(?:<[^;(){}]*>)?\s*\(" % re.escape(name.encode()), text.code):
            close = closing(text.code, call.end() - 1)
            caller = _holder(functions, call.start())
            if close is None or caller is None:
                continue
            actuals = arguments(text.read(call.end(), close))
            for launcher, site in held:
                bound = bind(names[launcher.start], actuals)
                kernel = _NAMED.match(bound.get(site.callee, "").lstrip("& "))
                if kernel is None or kernel.group(2) not in kernels:
                    continue
                inner = definitions.used_by(
                    [site.grid, site.block, site.shared_bytes or "", *site.arguments], launcher, site.start
                )
                seen = {key: substituted(value, bound) for key, value in inner.items() if key not in bound}
                here = Site(
                    kernel.group(2),
                    arguments(kernel.group(3) or ""),
                    substituted(site.grid, bound),
                    substituted(site.block, bound),
                    substituted(site.shared_bytes, bound) if site.shared_bytes else None,
                    substituted(site.stream, bound) if site.stream else None,
                    tuple(part for a in site.arguments for part in arguments(substituted(a, bound))),
                    call.start(),
                    close + 1,
                )
                for launch in _resolved(text, here, caller, kernels, definitions, seen):
                    yield replace(
                        launch,
                        grid=dimensions(here.grid, launch.definitions),
                        block=dimensions(here.block, launch.definitions),
                    )
