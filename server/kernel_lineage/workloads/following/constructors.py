"""Objects of the unit's structures, as their constructors make them."""

from __future__ import annotations

from itertools import zip_longest

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.following.calls import Calls, takes
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import HostCode, HostParameter, bare_type
from kernel_lineage.workloads.following.library import clear
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.types import INTEGERS
from kernel_lineage.workloads.following.values import NotFollowed, Opaque, Pointer, Record, Value


class Constructors(Calls):
    """Follows constructors."""

    def record(self, kind: str, args: list[Value]) -> Record:
        """A structure of what it is made with: field by field, or by its constructor. Raises `NotFollowed`."""
        name = kind.partition("<")[0].rpartition("::")[2].strip()
        makers = self.unit.own_methods.get(name, {}).get(name, [])
        if not makers:
            return super().record(kind, args)
        if len(args) == 1 and isinstance(args[0], Record) and args[0].type == kind:
            return Record(kind, dict(args[0].fields))
        fitting = [
            m for m in makers if takes(m, len(args)) and [bare_type(p.type) for p in m.parameters] != [name]
        ]
        made = self.unset(kind, 0, name)
        if len(fitting) != 1 or not isinstance(made, Record):
            raise NotFollowed(f"the constructor of `{kind}`")
        names, leads = Names(Names()), not self.leading.isdisjoint(self.unit.own_methods[name])
        for parameter, value in zip_longest(fitting[0].parameters, args):
            taken = self.either(parameter.default, names) if value is None else value
            if leads and parameter.type in INTEGERS:
                taken = self.sizes.of_literal(taken, parameter.name, self.function)
            names.values[parameter.name] = taken
        self.enter(made, names)
        self.initialised(made, fitting[0], names)
        self.body(fitting[0].body, names)
        return made

    def of_type(self, value: Value, kind: str) -> Value:
        """A value where a type is asked for; of a structure that names some of its fields, the others are zero."""
        if not isinstance(value, Record) or value.type or not self.unit.fields_of(kind):
            return super().of_type(value, kind)
        made = self.zeroed(kind, "")
        if not isinstance(made, Record) or not value.fields.keys() <= made.fields.keys():
            return Opaque(f"`{kind}`")
        named = {n: self.sizes.of_literal(v, n, self.function) for n, v in value.fields.items()}
        made.fields.update({n: self.of_type(v, self._kind_of(kind, n)) for n, v in named.items()})
        return made

    def zeroed(self, kind: str, name: str) -> Value:
        """What empty braces make: fields are what their structure says, else zero."""
        made = self.unset(kind, 0, name)
        if isinstance(made, Record):
            clear(made)
            made.fields |= {
                f.name: self.initial(f) for f in self.unit.fields_of(kind) if f.initial is not None
            }
        return made

    def initial(self, field: HostParameter) -> Value:
        """What a field is as its structure says where it is made."""
        value = self.either(field.initial, Names(Names()))
        if isinstance(value, Pointer) and value.buffer is None:
            return Pointer(None, field.type)
        return self.sizes.of_literal(value, field.name, self.function)

    def _kind_of(self, kind: str, field: str) -> str:
        return next(f.type for f in self.unit.fields_of(kind) if f.name == field)

    def initialised(self, this: Record, maker: HostCode, names: Names) -> None:
        """Give an object's fields what stands before a constructor's body. Raises `NotFollowed`."""
        lists = (c for c in maker.node.named_children if c.type == "field_initializer_list")
        kinds = {f.name: f.type for f in self.unit.fields_of(this.type)}
        for one in (c for listed in lists for c in listed.named_children if c.type == "field_initializer"):
            name, nodes = text_of(one.named_child(0)), arguments_of(one.named_child(1))
            if name not in kinds:
                raise NotFollowed(f"`{text_of(one)}`")
            args = [self.either(node, names) for node in nodes]
            is_whole = len(args) != 1 or isinstance(args[0], list)
            if is_whole and self.unit.fields_of(kinds[name]):
                this.fields[name] = self.record(kinds[name], args)
            elif len(args) == 1:
                this.fields[name] = args[0]
            else:
                this.fields[name] = Opaque(f"`{text_of(one)}`")
