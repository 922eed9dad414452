"""Expressions of CUDA C++ → symbolic values, with the accesses that their evaluation makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import indices_of
from kernel_lineage.kernels.cuda_syntax import bare, operator_of, text_of
from kernel_lineage.proofs.cuda.names import Names
from kernel_lineage.proofs.cuda.scope import Scope, shown
from kernel_lineage.proofs.values import (
    BOOL,
    INT32,
    INT64,
    INTEGERS,
    UINT32,
    UINT64,
    Group,
    Int,
    IntType,
    Opaque,
    Pointer,
    Value,
    between,
    merged,
    unknown,
)
from kernel_lineage.solving import terms
from kernel_lineage.solving.solver import is_natural, is_truth
from kernel_lineage.solving.terms import FALSE, TRUE, ZERO, Num, Term, Var

_BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])")
_MEMBERS = {name: i for i, name in enumerate("xyzw")}
_COMPARISONS: dict[str, Callable[[Term, Term], Term]] = {
    "<": terms.less,
    "<=": terms.at_most,
    ">": lambda a, b: terms.less(b, a),
    ">=": lambda a, b: terms.at_most(b, a),
    "==": terms.equal,
    "!=": lambda a, b: terms.negation(terms.equal(a, b)),
}
_MOST_SHIFT = 62
_NULL = Opaque("the null pointer")

Call = Callable[["Expressions", Node], Value]


class Expressions:
    """Evaluates expressions in a scope. `call` evaluates calls, which may inline functions."""

    def __init__(self, scope: Scope, call: Call) -> None:
        self.scope = scope
        self.call = call

    def truth(self, node: Node | None) -> Term:
        """A condition. One that could not be modelled is a new unknown."""
        node = bare(node)
        if node is None:
            return TRUE
        value = self.value(node)
        if isinstance(value, Int):
            return truth_of(value.term)
        reason = f"the condition `{shown(node)}` on line {self.scope.line(node)} depends on data"
        return truth_of(unknown(self.scope.model, "condition", BOOL, reason).term)

    def integer(self, node: Node | None) -> Int:
        """An integer; unknown where it could not be modelled."""
        if node is None:
            return Int(ZERO)
        value = self.value(node)
        return value if isinstance(value, Int) else self.unknown(node, value)

    def unknown(self, node: Node, value: Value | None = None, type_: IntType = INT32) -> Int:
        """A new unknown in the place of a node."""
        why = (
            value.reason
            if isinstance(value, Opaque) and value.reason
            else f"`{shown(node)}` on line {self.scope.line(node)}"
        )
        return unknown(self.scope.model, "value", type_, why)

    def value(self, node: Node) -> Value:
        """The value of an expression."""
        match node.type:
            case "parenthesized_expression":
                inner = bare(node)
                return self.value(inner) if inner is not None else Opaque()
            case "number_literal":
                return _literal(text_of(node))
            case "true" | "false":
                return Int(TRUE if node.type == "true" else FALSE, BOOL)
            case "identifier":
                return self.name(node)
            case "qualified_identifier":
                return self.name(node)
            case "field_expression":
                return self.field(node)
            case "binary_expression":
                return self.binary(node)
            case "unary_expression":
                return self.unary(node)
            case "update_expression":
                return self.update(node)
            case "assignment_expression":
                return self.assignment(node)
            case "conditional_expression":
                return self.conditional(node)
            case "cast_expression":
                return self.cast(node, node.child_by_field_name("type"), node.child_by_field_name("value"))
            case "call_expression":
                return self.call(self, node)
            case "subscript_expression":
                return self.load(node)
            case "pointer_expression":
                if operator_of(node) == "*":
                    return self.load(node)
                place = self.place(node.child_by_field_name("argument"))
                return place if isinstance(place, Pointer) else Opaque(f"the address `{shown(node)}`")
            case "sizeof_expression":
                named = node.child_by_field_name("type") or bare(node.child_by_field_name("value"))
                size = self.scope.names.element(text_of(named)).nbytes
                return Int(Num(size), UINT64) if size else self.unknown(node, None, UINT64)
            case "comma_expression":
                self.value(node.named_children[0])
                return self.value(node.named_children[-1])
            case "compound_literal_expression" | "initializer_list" | "argument_list":
                for child in node.named_children:
                    if child.type not in ("type_identifier", "primitive_type", "comment"):
                        self.value(child)
                return Opaque()
            case "null":
                return _NULL
            case "lambda_expression":
                return Opaque(f"a lambda on line {self.scope.line(node)}")
            case _:
                for child in node.named_children:
                    self.value(child)
                return Opaque()

    def name(self, node: Node) -> Value:
        """A variable, constant or macro."""
        name = text_of(node)
        scope = self.scope
        if name in scope.variables:
            return scope.variables[name]
        if name in scope.setting.constants:
            return Int(scope.setting.constants[name])
        if name == "warpSize":
            return Int(Num(32))
        macro = scope.names.macros.get(name)
        value = scope.names.snippet(macro.body) if macro is not None and macro.parameters is None else None
        value = value or scope.names.constants.get(name)
        if value is None or name in scope.busy:
            return Opaque(f"`{name}` on line {scope.line(node)} is not known")
        scope.busy.add(name)
        before, scope.at_line = scope.at_line, scope.line(node)
        try:
            return self.value(value)
        finally:
            scope.busy.discard(name)
            scope.at_line = before

    def field(self, node: Node) -> Value:
        """A member: of the built-in variables, or of a vector in memory."""
        text = text_of(node)
        if (built_in := _BUILT_IN.fullmatch(text)) is not None:
            launch = self.scope.setting.launch
            match built_in[1]:
                case "blockDim":
                    return Int(launch.block["xyz".index(built_in[2])], UINT32)
                case "gridDim":
                    return Int(launch.grid["xyz".index(built_in[2])], UINT32)
            extents = launch.block if built_in[1] == "threadIdx" else launch.grid
            return Int(ZERO if extents["xyz".index(built_in[2])] == Num(1) else Var(text), UINT32)
        place = self.place(node)
        if isinstance(place, Pointer):
            return self.loaded(node, place)
        return Opaque(place.reason if isinstance(place, Opaque) else "")

    def place(self, node: Node | None) -> Value:
        """Where an lvalue lies: a pointer, or something opaque for a variable."""
        node = bare(node)
        if node is None:
            return Opaque()
        match node.type:
            case "subscript_expression":
                base = self.value_of_array(node.child_by_field_name("argument"))
                index = self.integer(next(iter(indices_of(node)), None))
                if not isinstance(base, Pointer):
                    return Opaque(_why(base) or f"`{shown(node)}` on line {self.scope.line(node)}")
                stride = base.element.nbytes
                for extent in base.extents[1:]:
                    stride *= extent
                offset = terms.add(base.offset, terms.mul(index.term, Num(stride)))
                through = base.arithmetic | index.arithmetic
                return replace(base, offset=offset, extents=base.extents[1:], arithmetic=through)
            case "pointer_expression" if operator_of(node) == "*":
                base = self.value(node.named_children[-1])
                return base if isinstance(base, Pointer) else Opaque(_why(base))
            case "field_expression":
                base = self.place(node.child_by_field_name("argument"))
                member = _MEMBERS.get(text_of(node.child_by_field_name("field")))
                part = Names.part(base.element) if isinstance(base, Pointer) else None
                if isinstance(base, Pointer) and member is not None and part is not None:
                    offset = terms.add(base.offset, Num(member * part.nbytes))
                    return replace(base, offset=offset, element=part)
                return Opaque(_why(base))
            case "cast_expression" | "call_expression":
                return self.value(node)
            case "identifier":
                value = self.scope.variables.get(text_of(node))
                # An array stands for its first element; a pointer variable lies in a register.
                return value if isinstance(value, Pointer) and value.extents else Opaque()
            case _:
                return Opaque()

    def value_of_array(self, node: Node | None) -> Value:
        """What a subscript indexes."""
        node = bare(node)
        if node is None:
            return Opaque()
        return (
            self.place(node)
            if node.type == "subscript_expression" and self._is_row(node)
            else self.value(node)
        )

    def _is_row(self, node: Node) -> bool:
        """Whether `tile[i]` is itself an array."""
        depth, root = 0, bare(node)
        while root is not None and root.type == "subscript_expression":
            depth, root = depth + 1, bare(root.child_by_field_name("argument"))
        value = self.scope.variables.get(text_of(root)) if root is not None else None
        return isinstance(value, Pointer) and len(value.extents) > depth

    def load(self, node: Node) -> Value:
        """What stands at an lvalue in memory."""
        place = self.place(node)
        if not isinstance(place, Pointer):
            self._unmodelled(node, place)
            return Opaque(_why(place))
        return place if place.extents else self.loaded(node, place)

    def _unmodelled(self, node: Node, place: Value) -> None:
        if _why(place):
            self.scope.problem(node, f"`{shown(node)}`: {_why(place)}")

    def loaded(self, node: Node, place: Pointer) -> Value:
        """Read an element."""
        self.scope.access(node, place, reads=True)
        type_ = INTEGERS.get(place.element.dtype)
        if type_ is None:
            return Opaque()
        buffer = self.scope.setting.buffers.get(place.root)
        if buffer is not None and buffer.values is not None and place.space == "global":
            return between(self.scope.model, f"{place.root}[…]", *buffer.values, type_)
        why = f"the value of `{shown(node)}` (line {self.scope.line(node)}) is data"
        return unknown(self.scope.model, "loaded", type_, why)

    def store(self, node: Node | None, value: Value, *, also_reads: bool = False) -> None:
        """Assign to an lvalue."""
        node = bare(node)
        if node is None:
            return
        if node.type in ("identifier", "qualified_identifier"):
            if text_of(node) in self.scope.shared_scalars:
                return
            held = self.scope.variables.get(text_of(node))
            self.scope.variables[text_of(node)] = converted(self, node, value, held)
            return
        place = self.place(node)
        if isinstance(place, Pointer):
            self.scope.access(node, place, reads=also_reads, writes=True)
        elif node.type != "field_expression":
            self._unmodelled(node, place)

    def assignment(self, node: Node) -> Value:
        """`a = b`, `a += b` and the like."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = operator_of(node)
        if left is None or right is None:
            return Opaque()
        if operator == "=":
            value = self.value(right)
            self.store(left, value)
            return value
        inner = bare(left)
        in_memory = inner is not None and inner.type not in ("identifier", "qualified_identifier")
        if in_memory:
            self.value(right)
            self.store(left, Opaque(), also_reads=True)
            return Opaque()
        value = self.combined(node, operator[:-1], self.value(left), self.value(right))
        self.store(left, value)
        return value

    def update(self, node: Node) -> Value:
        """`i++` and `--i`."""
        target = bare(node.child_by_field_name("argument"))
        if target is None:
            return Opaque()
        if target.type not in ("identifier", "qualified_identifier"):
            self.store(target, Opaque(), also_reads=True)
            return Opaque()
        before = self.value(target)
        after = self.combined(node, operator_of(node)[0], before, Int(Num(1)))
        self.store(target, after)
        return after if node.children[0].type in ("++", "--") else before

    def conditional(self, node: Node) -> Value:
        """`c ? a : b`: each side is read under its condition."""
        condition = self.truth(node.child_by_field_name("condition"))
        yes_node, no_node = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if yes_node is None or no_node is None:
            return Opaque()
        with self.scope.under(condition):
            yes = self.value(yes_node)
        with self.scope.under(terms.negation(condition)):
            no = self.value(no_node)
        return merged(condition, yes, no, shown(node), self.scope.line(node))

    def unary(self, node: Node) -> Value:
        """`-a`, `!a`, `~a`, `+a`."""
        argument = node.child_by_field_name("argument")
        match operator_of(node):
            case "!":
                return Int(terms.negation(self.truth(argument)), BOOL)
            case "-":
                value = self.value(argument) if argument is not None else Opaque()
                if isinstance(value, Int):
                    return self.scope.arithmetic(
                        node, terms.sub(ZERO, value.term), value.type, value.arithmetic
                    )
                return Opaque(_why(value))
            case "~":
                value = self.value(argument) if argument is not None else Opaque()
                return Int(terms.sub(Num(-1), value.term), value.type) if isinstance(value, Int) else Opaque()
            case _:
                return self.value(argument) if argument is not None else Opaque()

    def binary(self, node: Node) -> Value:
        """An infix operation; the right side of `&&` and `||` is read under the left."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = operator_of(node)
        if operator in ("&&", "||"):
            first = self.truth(left)
            with self.scope.under(first if operator == "&&" else terms.negation(first)):
                second = self.truth(right)
            join = terms.conjunction if operator == "&&" else terms.disjunction
            return Int(join(first, second), BOOL)
        if left is None or right is None:
            return Opaque()
        return self.combined(node, operator, self.value(left), self.value(right))

    def combined(self, node: Node, operator: str, a: Value, b: Value) -> Value:
        """`a operator b`."""
        match a, b:
            case Int(), Int():
                return self._integers(node, operator, a, b)
            case Pointer(), Int() if operator in ("+", "-"):
                index = b if operator == "+" else replace(b, term=terms.sub(ZERO, b.term))
                return self._moved(a, index)
            case Int(), Pointer() if operator == "+":
                return self._moved(b, a)
            case (Pointer(), Opaque()) | (Opaque(), Pointer()) if _NULL in (a, b) and operator in (
                "==",
                "!=",
            ):
                return Int(TRUE if operator == "!=" else FALSE, BOOL)
            case Group(), _:
                return Opaque()
        if operator in _COMPARISONS:
            return Opaque()
        return Opaque(_why(a) or _why(b))

    def _moved(self, pointer: Pointer, index: Int) -> Value:
        stride = pointer.element.nbytes
        for extent in pointer.extents[1:]:
            stride *= extent
        if not stride:
            return Opaque(f"arithmetic on a pointer into `{pointer.root}` of a type that is not known")
        moved = terms.add(pointer.offset, terms.mul(index.term, Num(stride)))
        through = pointer.arithmetic | index.arithmetic
        return replace(pointer, offset=moved, extents=pointer.extents[1:], arithmetic=through)

    def _integers(self, node: Node, operator: str, a: Int, b: Int) -> Value:
        x, y = a.term, b.term
        through = a.arithmetic | b.arithmetic
        if operator in _COMPARISONS:
            return Int(_COMPARISONS[operator](x, y), BOOL, through)
        type_ = common(a.type, b.type)
        match operator:
            case "+":
                return self.scope.arithmetic(node, terms.add(x, y), type_, through)
            case "-":
                return self.scope.arithmetic(node, terms.sub(x, y), type_, through)
            case "*":
                return self.scope.arithmetic(node, terms.mul(x, y), type_, through)
            case "/" | "%":
                return self._divided(node, operator, replace(a, type=type_), b, through)
            case "<<" if isinstance(y, Num) and 0 <= y.value <= _MOST_SHIFT:
                return self.scope.arithmetic(node, terms.mul(x, Num(1 << y.value)), promoted(a.type), through)
            case ">>" if isinstance(y, Num) and 0 <= y.value <= _MOST_SHIFT:
                return Int(terms.floor_div(x, Num(1 << y.value)), promoted(a.type), through)
            case "&":
                for value, mask in ((x, y), (y, x)):
                    if isinstance(mask, Num) and mask.value >= 0 and mask.value & (mask.value + 1) == 0:
                        return Int(terms.mod(value, Num(mask.value + 1)), type_, through)
                    if isinstance(mask, Num) and mask.value < 0 and -mask.value & (-mask.value - 1) == 0:
                        return Int(terms.sub(value, terms.mod(value, Num(-mask.value))), type_, through)
        return self.unknown(node, None, type_)

    def _divided(self, node: Node, operator: str, a: Int, b: Int, through: frozenset[int]) -> Int:
        """C rounds towards zero; that is floor division where nothing is negative."""
        naturals = frozenset(self.scope.model.naturals) | frozenset(self.scope.setting.dims)
        whole = terms.floor_div if operator == "/" else terms.mod
        positive = (isinstance(b.term, Num) and b.term.value > 0) or (
            not isinstance(b.term, Num) and is_natural(b.term, naturals)
        )
        if positive and is_natural(a.term, naturals):
            return Int(whole(a.term, b.term), a.type, through)
        if positive:
            minus = terms.sub(ZERO, a.term)
            rounded = terms.choice(
                terms.at_most(ZERO, a.term), whole(a.term, b.term), terms.sub(ZERO, whole(minus, b.term))
            )
            return Int(rounded, a.type, through)
        return self.unknown(
            node, Opaque(f"`{shown(node)}` on line {self.scope.line(node)} divides by what may be negative")
        )

    def cast(self, node: Node, described: Node | None, argument: Node | None) -> Value:
        """A conversion, of a pointer or of a number."""
        if argument is None or described is None:
            return Opaque()
        return self.cast_to(node, text_of(described), self.value(argument))

    def cast_to(self, node: Node, written: str, value: Value) -> Value:
        """A value as another type."""
        element = self.scope.names.element(written)
        if "*" in written:
            if isinstance(value, Pointer):
                return replace(value, element=element, extents=())
            return Opaque(_why(value))
        type_ = INTEGERS.get(element.dtype)
        if type_ is None:
            return Opaque(_why(value))
        if isinstance(value, Int):
            return fitted(self, node, value, type_)
        return unknown(
            self.scope.model,
            "cast",
            type_,
            _why(value) or f"`{shown(node)}` on line {self.scope.line(node)} is data",
        )


def truth_of(term: Term) -> Term:
    """A number as a truth value."""
    if isinstance(term, Num):
        return TRUE if term.value else FALSE
    return term if is_truth(term) else terms.negation(terms.equal(term, ZERO))


def _why(value: Value) -> str:
    return value.reason if isinstance(value, Opaque) else ""


def _literal(text: str) -> Value:
    text = text.replace("'", "")
    suffix = re.search(r"[uUlLzZ]*$", text)
    letters = suffix.group().lower() if suffix is not None else ""
    try:
        number = int(text[: len(text) - len(letters)], 0)
    except ValueError:
        digits = text.rstrip("uUlL")
        if re.fullmatch(r"0[0-7]+", digits):
            return Int(Num(int(digits, 8)))
        return Opaque()
    wide = "l" in letters or number >= 2**32
    return Int(Num(number), (UINT64 if wide else UINT32) if "u" in letters else INT64 if wide else INT32)


def promoted(type_: IntType) -> IntType:
    """A type after integer promotion."""
    return INT32 if type_.bits < 32 else type_


def common(a: IntType, b: IntType) -> IntType:
    """The type in which an operation on two types is done (C++, usual arithmetic conversions)."""
    a, b = promoted(a), promoted(b)
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if not a.signed else b


def fitted(at: Expressions, node: Node, value: Int, type_: IntType) -> Int:
    """An integer as another type; one that becomes narrower or changes its sign is asked whether it fits."""
    if type_.least <= value.type.least and value.type.most <= type_.most:
        return replace(value, type=type_)
    if type_.bits == 32:
        return at.scope.arithmetic(node, value.term, type_, value.arithmetic)
    if type_ == UINT64:
        return replace(value, type=type_)
    if type_ == BOOL:
        return Int(truth_of(value.term), BOOL, value.arithmetic)
    return unknown(
        at.scope.model, "narrow", type_, f"`{shown(node)}` on line {at.scope.line(node)} is cut to {type_}"
    )


def converted(at: Expressions, node: Node, value: Value, held: Value | None) -> Value:
    """A value as it is kept in a variable that held another one."""
    if isinstance(value, Int) and isinstance(held, Int) and held.type != value.type:
        return fitted(at, node, value, held.type)
    return value


def declared(at: Expressions, node: Node, written: str, pointer: bool, value: Value | None) -> Value:
    """A value as the initial one of a declared variable."""
    if pointer or "auto" in written:
        if isinstance(value, Pointer) and "auto" not in written:
            element = at.scope.names.element(written)
            return replace(value, element=element if element.nbytes else value.element, extents=())
        return (
            value if value is not None else Opaque(f"a pointer that is not set on line {at.scope.line(node)}")
        )
    type_ = INTEGERS.get(at.scope.names.element(written).dtype)
    if type_ is None:
        return value if isinstance(value, Group) else Opaque(_why(value) if value is not None else "")
    if isinstance(value, Int):
        return fitted(at, node, value, type_)
    why = (
        _why(value) if value is not None else ""
    ) or f"`{shown(node)}` on line {at.scope.line(node)} is data"
    return unknown(at.scope.model, "variable", type_, why)
