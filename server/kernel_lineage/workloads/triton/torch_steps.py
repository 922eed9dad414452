"""What PyTorch works out in a host function of Triton kernels as launches of kernels that do the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Operand, Value
from kernel_lineage.workloads.host_program import OfTorch, buffer_of
from kernel_lineage.workloads.triton.torch_kernels import ELEMENTS, Part, elementwise_kernel, reduction_kernel
from kernel_lineage.workloads.triton.torch_work import Operand as TorchOperand
from kernel_lineage.workloads.triton.torch_work import Work, broadcast_strides
from kernel_lineage.workloads.triton.values import Size, Tensor, called, is_number, product, text_of

_MOST_SHARES = 256
"""Programs of the first launch of a reduction over a whole tensor."""
_ENTRY = "torch_"
"""How the names of the kernels begin."""
_INT = "int64"


class TorchSteps:
    """Makes launches, and the kernels that they need. The first argument of each is what it writes."""

    def __init__(
        self,
        place: Callable[[Tensor, str], tuple[str, int | Size]],
        number: Callable[[Size, str], Operand],
        fresh: Callable[[tuple[int | Size, ...], str], Tensor],
    ) -> None:
        """`place` tells a tensor's buffer and the elements before it, `number` how a launch passes a number; `fresh`
        makes memory.
        """
        self._place, self._number, self._fresh = place, number, fresh
        self._kernels: dict[str, str] = {}
        """Text without its name → name."""
        self._does: dict[str, str] = {}
        """Name of a kernel → the function of torch that it is a part of."""

    def made(self, steps: Sequence[LaunchStep | MemsetStep]) -> OfTorch:
        """The kernels of those launches that are torch's."""
        launched = dict.fromkeys(
            s.entry for s in steps if isinstance(s, LaunchStep) and s.entry in self._does
        )
        texts = {name: text.replace("{entry}", name) for text, name in self._kernels.items()}
        functions = dict.fromkeys(self._does[entry] for entry in launched)
        return OfTorch({entry: texts[entry] for entry in launched}, tuple(functions))

    def steps(self, work: Work) -> list[LaunchStep]:
        """The launches that an operation is."""
        return self._elementwise(work) if work.formula else self._reduction(work)

    def _elementwise(self, work: Work) -> list[LaunchStep]:
        shape = work.result.shape or ()
        words, more, parts = list[Operand](), _Parameters(), list[Part]()
        for operand in (work.result, *work.operands):
            if isinstance(operand, Tensor):
                buffer, before = self._place(operand, work.name)
                words.append(buffer)
                index = _index(operand, before, shape, more)
                if work.picks is not None and len(parts) == 2:
                    step, extent = map(more.name, work.picks)
                    index = f"({index} + torch_tl.where(a0 < 0, a0 + {extent}, a0) * {step})"
                parts.append(Part(index, "", "int64" if work.picks is not None and len(parts) == 1 else ""))
                continue
            written = _constant(operand)
            if isinstance(operand, Size):
                words.append(self._number(operand, work.computed))
            parts.append(Part("", written))
        is_plain = all(part.index in ("", "i", "(0 * i)") for part in parts)
        extents = () if is_plain else more.extents(shape)
        text = elementwise_kernel(
            "{entry}", work.formula, parts[1:], parts[0], work.computed, extents, more.listed
        )
        elements = text_of(product(shape))
        words += [Value(elements, _INT), *more.words]
        return [self._step(work.name, text, f"ceil_div({elements}, {ELEMENTS})", words)]

    def _reduction(self, work: Work) -> list[LaunchStep]:
        (source,) = work.operands
        assert isinstance(source, Tensor)
        shape = source.shape or ()
        left = [axis for axis in range(len(shape)) if axis not in work.axes]
        extent, results = product(shape[axis] for axis in work.axes), product(shape[axis] for axis in left)
        if left or not shape:
            return [
                self._reduced(work.name, work, source, work.result, work.axes, extent, results, 1, extent)
            ]
        return self._of_all(work, source, extent)

    def _of_all(self, work: Work, source: Tensor, extent: int | Size) -> list[LaunchStep]:
        """A reduction over a whole tensor: each program of the first launch has a share of it."""
        shares = called("max", 1, called("min", _MOST_SHARES, called("ceil_div", extent, 4 * ELEMENTS)))
        assert not isinstance(shares, float)
        parts = self._fresh((shares,), work.computed)
        begun = "sum" if work.name == "mean" else work.name
        return [
            self._reduced(begun, work, source, parts, work.axes, extent, shares, shares, extent),
            self._reduced(work.name, work, parts, work.result, (0,), shares, 1, 1, extent),
        ]

    def _reduced(
        self,
        name: str,
        work: Work,
        source: Tensor,
        result: Tensor,
        axes: Collection[int],
        extent: int | Size,
        programs: int | Size,
        share: int | Size,
        count: int | Size,
    ) -> LaunchStep:
        shape, more = source.shape or (), _Parameters()
        buffer, before = self._place(source, work.name)
        strides = broadcast_strides(source, shape)
        places: list[tuple[list[str], str]] = []
        for index, among in (("r", set(range(len(shape))) - {*axes}), ("k", {*axes})):
            listed = sorted(among)
            terms = more.terms(index, [strides[axis] for axis in listed], before if index == "r" else 0)
            places.append((more.extents([shape[axis] for axis in listed]), terms))
        text = reduction_kernel("{entry}", name, places[0], places[1], work.computed, more.listed)
        words: list[Operand] = [self._place(result, work.name)[0], buffer]
        words += [Value(text_of(number), _INT) for number in (extent, share, count)]
        return self._step(work.name, text, text_of(programs), [*words, *more.words])

    def _step(self, name: str, text: str, blocks: str, words: list[Operand]) -> LaunchStep:
        entry = self._kernels.setdefault(text, f"{_ENTRY}{name}_{len(self._kernels)}")
        self._does.setdefault(entry, name)
        spec = LaunchSpec((blocks,), constexpr={"BLOCK": str(ELEMENTS)})
        return LaunchStep(entry, spec, tuple(words))


class _Parameters:
    """Numbers that a kernel takes for extents and strides; one that is written out is no parameter."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name(self, number: int | Size) -> str:
        """A number as the kernel has it."""
        text = text_of(number)
        return text if text.isdigit() else self._names.setdefault(text, f"d{len(self._names)}")

    def extents(self, shape: Sequence[int | Size]) -> list[str]:
        """The extents of a shape as the kernel has them; the first one, which it does not need, is ""."""
        return ["" if axis == 0 else self.name(extent) for axis, extent in enumerate(shape)]

    def terms(self, index: str, strides: Sequence[int | Size], before: int | Size) -> str:
        """Where the element at places `i0`, `i1`, … lies, with so many elements before the first."""
        terms = [
            f"{index}{axis}" if text_of(stride) == "1" else f"{index}{axis} * {self.name(stride)}"
            for axis, stride in enumerate(strides)
            if text_of(stride) != "0"
        ]
        terms = terms or ([] if index == "r" else [f"0 * {index}"])
        terms += [self.name(before)] if before != 0 else []
        return f"({' + '.join(terms) or '0'})"

    @property
    def listed(self) -> str:
        """The parameters, each with ", " in front."""
        return "".join(f", {name}" for name in self._names.values())

    @property
    def words(self) -> list[Operand]:
        """What a launch passes for them."""
        return [Value(text, _INT) for text in self._names]


def _index(tensor: Tensor, before: int | Size, shape: Sequence[int | Size], more: _Parameters) -> str:
    """Where a tensor has its element for element `i` of a shape."""
    own = tensor.shape or ()
    is_whole = len(own) == len(shape) and not any(
        one == 1 != other for one, other in zip(own, shape, strict=True)
    )
    if tensor.strides is None and is_whole:
        return "i" if before == 0 else f"(i + {more.name(before)})"
    return more.terms("i", broadcast_strides(tensor, shape), before)


def _constant(number: TorchOperand) -> str:
    """A number that is written out; "" for one that depends on sizes."""
    assert is_number(number)
    if isinstance(number, Size):
        return ""
    text = repr(int(number) if isinstance(number, bool) else number)
    return f'float("{text}")' if text in ("inf", "-inf") else text


def needed(
    steps: Sequence[LaunchStep | MemsetStep], of_torch: Collection[str], wanted: Collection[str]
) -> list[LaunchStep | MemsetStep]:
    """The steps without those of torch that make what nobody reads; `wanted` are the buffers that stand at the end.

    Buffers whose names begin with `#` are made on the way.
    """
    live, kept = {*wanted}, list[LaunchStep | MemsetStep]()
    for step in reversed(steps):
        if isinstance(step, LaunchStep):
            into = buffer_of(step.arguments[0]) if step.entry in of_torch else ""
            if into.startswith("#") and into not in live:
                continue
            live.update(map(buffer_of, step.arguments))
        kept.append(step)
    return kept[::-1]
