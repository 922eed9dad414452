"""Shapes that the host does not tell, from how the kernel addresses the buffer beside those whose shape is known.

Two buffers that are addressed in the same way have the same shape. Where an index runs over an axis of a buffer that is
known, it runs over as many elements of one that is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernel_lineage.kernels.linear_forms import Linear
from kernel_lineage.workloads.triton.roles import Touch
from kernel_lineage.workloads.triton.values import Size, Stride, Tensor, stride_of, text_of

Shape = tuple[int | Size, ...]
_Key = tuple[tuple[str, str], ...]


def shapes_by_addresses(
    touches: Sequence[Touch], arguments: Mapping[str, object], tensors: Mapping[str, Tensor]
) -> dict[str, Shape]:
    """Pointer parameter → its shape, for those in `arguments` that are no tensors of known shape.

    `arguments` is what the launch gives to each parameter, `tensors` the tensors of known shape.
    """
    forms: dict[str, dict[_Key, Linear]] = {}
    unread: set[str] = set()
    for touch in touches:
        if touch.own:
            strides = _axes(touch.pointer, arguments)
            if "?" in "".join(map(str, touch.form.values())):
                unread.add(touch.pointer)  # two addresses that are not read are not the same
            forms.setdefault(touch.pointer, {})[_key(touch.form, strides)] = touch.form
    shapes: dict[str, Shape] = {}
    forms = {name: own for name, own in forms.items() if name not in unread}
    for name, own in forms.items():
        if name in tensors:
            continue
        same = next((n for n in tensors if set(forms.get(n, ())) & set(own)), None)
        shape = tensors[same].shape if same is not None else _by_axes(own, forms, arguments, tensors)
        if shape is not None:
            shapes[name] = shape
    return shapes


def strides_alike(
    arguments: Mapping[str, object], tensors: Mapping[str, Tensor], notes: list[str]
) -> dict[str, Stride]:
    """Parameter → the stride that it is taken to be, where the launch asks it of a tensor of unknown shape.

    A tensor of which the launch asks strides is taken to have those of another one, of which it asks the same. How
    far the kernel reaches with them is for its run to say.
    """
    asked: dict[str, dict[str, int]] = {}
    for parameter, value in arguments.items():
        if isinstance(value, Stride):
            asked.setdefault(value.tensor, {})[parameter] = value.axis
    alike: dict[str, Stride] = {}
    shaped = {t.name: t for t in tensors.values() if t.shape is not None and t.name in asked}
    for name, axes in asked.items():
        same = (t for n, t in shaped.items() if {*axes.values()} == {*asked[n].values()})
        other = next(same, None) if name not in shaped else None
        if other is not None:
            notes.append(f"{name} is taken to have the strides of {other.name}: nothing tells its shape")
            alike.update({p: stride_of(other, axis) for p, axis in axes.items()})
    return alike


def _axes(pointer: str, arguments: Mapping[str, object]) -> dict[str, int]:
    """Parameter that is a stride of the pointer's own tensor → the axis."""
    tensor = arguments.get(pointer)
    name = getattr(tensor, "name", None)
    return {p: v.axis for p, v in arguments.items() if isinstance(v, Stride) and v.tensor == name}


def _key(form: Linear, strides: Mapping[str, int]) -> _Key:
    """A form in which a stride is written by its axis, so that forms of several buffers can be compared."""
    return tuple(sorted((a, _by_axis(str(c), strides)) for a, c in form.items()))


def _by_axis(coefficient: str, strides: Mapping[str, int]) -> str:
    return "*".join(f"stride {strides[p]}" if p in strides else p for p in coefficient.split("*"))


def _by_axes(
    own: Mapping[_Key, Linear],
    forms: Mapping[str, Mapping[_Key, Linear]],
    arguments: Mapping[str, object],
    tensors: Mapping[str, Tensor],
) -> Shape | None:
    """The extents along the axes of a form, each as another buffer has it."""
    extents: dict[str, int | Size] = {}
    for other, others in forms.items():
        tensor = tensors.get(other)
        for form in others.values() if tensor is not None and tensor.shape else ():
            shape = (tensor.shape or ()) if tensor else ()
            for axis, place in _places(form, _axes(other, arguments), shape, arguments).items():
                extents.setdefault(axis, shape[place])
    for form in own.values():
        if form and all(axis in extents for axis in form):
            ordered = sorted(form, key=lambda a: form[a] == 1)
            return tuple(extents[axis] for axis in ordered)
    return None


def _places(
    form: Linear, strides: Mapping[str, int], shape: Shape, arguments: Mapping[str, object]
) -> dict[str, int]:
    """Axis of a form → the axis of the buffer along which it runs: by its stride, or the last where it is 1, or the one
    before where it is as many elements as a row has.
    """
    rank = len(shape)
    if len(form) != rank:
        return {}
    places: dict[str, int] = {}
    for axis, coefficient in form.items():
        if coefficient == 1:
            places[axis] = rank - 1
        elif isinstance(coefficient, str) and coefficient in strides:
            places[axis] = strides[coefficient] % rank
        elif rank == 2 and text_of(arguments.get(str(coefficient), coefficient)) == text_of(shape[-1]):
            places[axis] = 0
    return places if len(set(places.values())) == rank else {}
