"""The dims of a draft by names that people know them by."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kernel_lineage.kernels.words import WORD, with_meanings
from kernel_lineage.workloads.equal_dims import in_new_names, is_named_for_want
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.triton.host import Reader


def with_named_dims(
    draft: Draft, reader: Reader, constants: Collection[str], passed: Collection[str] = ()
) -> Draft:
    """The draft with the dims that it uses, those made of numbers by the first name that the code has for them.

    `passed` are the numbers of its launches, where it does not have them itself.
    """
    texts = [t for a in draft.arguments for t in (*(a.shape or ()), str(a.value or ""), a.values)]
    texts += (*draft.launch_texts, *passed)
    used = {n for t in texts for n in WORD.findall(t)}
    # A scalar may have the name of a dim that it is; expressions would mean one of two otherwise.
    means = {a.name: str(a.value) if a.kind == "scalar" else "" for a in draft.arguments}
    renamed: dict[str, str] = {}
    for name in reader.sizes:
        if name in used and name not in constants:
            wanted = reader.called_as.get(name, name) if is_named_for_want(name) else name
            taken = {*renamed.values(), *draft.constexpr} | {n for n, dim in means.items() if dim != name}
            renamed[name] = f"{wanted}_" if wanted in taken else wanted
    dims = {new: int(reader.sizes[old]) for old, new in renamed.items()}
    # What host code asks of tensors that the kernel is not given holds for no dim of the draft.
    unused = {n for n in reader.sizes if n not in renamed and n not in constants}
    promises = [p for p in draft.promises if unused.isdisjoint(WORD.findall(p))]

    draft = replace(draft, dims=dims, checked=dims, promises=tuple(promises))
    return in_new_names(draft, lambda text: with_meanings(text, renamed))
