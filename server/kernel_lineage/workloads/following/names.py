"""The names of one function, or of one lambda in it, while it is followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.values import ElementReference, Place, Reference, Value


@dataclass(slots=True, eq=False)
class Names:
    """Values by their names; what is not here is looked for around."""

    around: Names | None = None
    values: dict[str, Value] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """Alias of a type → that type."""
    references: dict[str, Place] = field(default_factory=dict)
    """Names that stand for a variable of the caller, a field or an element."""

    def holder(self, name: str) -> Names | None:
        """The names among which one is; None where nobody has it."""
        names: Names | None = self
        while names is not None and name not in names.values and name not in names.references:
            names = names.around
        return names

    def get(self, name: str) -> Value | None:
        """The value of a name; None where there is none."""
        holder = self.holder(name)
        if holder is None:
            return None
        if name in holder.references:
            return fetched(holder.references[name])
        return holder.values[name]

    def set(self, name: str, value: Value) -> None:
        """Give a name that is there a value; one that is not becomes a name of this function."""
        holder = self.holder(name) or self
        if name in holder.references:
            stored(holder.references[name], value)
        else:
            holder.values[name] = value

    def with_types(self, text: str) -> str:
        """A text with what aliases in it stand for: `twice<scalar_t>` as `twice<float>`."""
        return WORD.sub(lambda m: self.type_of(m[0]) or m[0], text)

    def type_of(self, name: str) -> str:
        """The type that an alias stands for; "" unknown."""
        names: Names | None = self
        while names is not None:
            if name in names.types:
                return names.types[name]
            names = names.around
        return ""


def fetched(reference: Place) -> Value | None:
    """What is kept where a reference points."""
    if isinstance(reference, Reference):
        return reference.names.get(reference.name)
    if isinstance(reference, ElementReference):
        return reference.elements[reference.at]
    return reference.record.fields.get(reference.name)


def stored(reference: Place, value: Value) -> None:
    """Keep a value where a reference points."""
    if isinstance(reference, Reference):
        reference.names.set(reference.name, value)
    elif isinstance(reference, ElementReference):
        reference.elements[reference.at] = value
    else:
        reference.record.fields[reference.name] = value
