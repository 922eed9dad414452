"""Trees of CUDA C++: what the grammar takes for a template or a cast where the names in it are values is read again.

Without a table of names `a < b || c > (d)` may be a call of the template `a`, and `(a) + b * c` may cast `+b` to the
type `a`; the grammar prefers these. It also closes a template with the first half of `>=` and of `>>`. The file itself
tells which names are values. Where one is, the text is parsed with another character at the same place: `>` for the `<`
of a comparison, which opens nothing, and letters for the brackets of `(a)`, which make it one name. The tree's text is
the file's again afterwards, so that the text of an operator, not its type, says which one it is.

Where nothing tells what a name is the tree stays: a call of an unseen function, or a cast to an unseen type
(`cuda_forms.sign_of_two`), which is unknown to who reads it. So does `(S::a) + b`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

import tree_sitter_cuda
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Point, Range, Tree

from kernel_lineage.kernels.cuda_text import blank_literals, closing_angle

_BEFORE = re.compile(rb"\s*(\w*[A-Za-z_])\s*(>-|\.|::)?")
"""The name that a text begins with, read from its end, and what links it to an object or a scope."""
_CASTS = frozenset(
    {b"static_cast", b"reinterpret_cast", b"const_cast", b"dynamic_cast", b"template", b"operator"}
)
_COMPONENTS = frozenset({b"x", b"y", b"z", b"w"})
_OPENS = re.compile(
    rb"<(?![<=]|\s*(?:(?:const|typename|void|bool|char|short|int|long|float|double|half|unsigned|signed|auto)\b(?!\s*\()|>))"
)
_CLOSES = re.compile(rb">(?<!->)(?=[=>]|\s*(?:[-+*&!~]|\((?!\s*\))))")
"""What may be read as the start and the end of template arguments, but for lists of types and calls of nothing."""
_CASTS_NAME = re.compile(rb"\((?<![\w>]\()\s*\w+\s*\)\s*[-+*&]")
"""What may be read as a cast of an operand with a sign."""
_NO_OPERAND = re.compile(rb"\s*(?:\(\s*\)|::|[,;{})\]?:.]|&&\s*[,)>]|[*&]\s*[,)>]|\Z)")
"""What cannot follow the `>` of a comparison."""
_NAME_IN_BRACKETS = re.compile(rb"\(\s*([A-Za-z_]\w*)\s*\)")
_SIGNS = frozenset({"+", "-", "*", "&", "&&"})
_IS_VALUE = re.compile(rb"\s*(?:[;\[\]+\-/%^?|]|=|\.(?!\.)|[!<>]=)")
_IS_MEMBER = re.compile(rb"\s*(?:[;\[\]+\-/%^?|]|=|\.(?!\.)|[!<>]=|[,)*&])")
_IS_DECLARED = re.compile(rb"\s*(?:[,)>]|\{)")
_TYPE_BEFORE = re.compile(
    rb"([A-Za-z_]\w*)(?:\s*<[^<>;(){}]*>)?(?:\s+|\s*[*&]+\s*)(?:(?:const|__restrict__)\s+)*\Z"
)
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+\Z")
_NUMBER = re.compile(rb"[ \t]+[\d(]")
_NO_TYPES = frozenset(
    {
        b"return",
        b"typename",
        b"class",
        b"struct",
        b"using",
        b"template",
        b"namespace",
        b"else",
        b"enum",
        b"union",
    }
)
_LOOKED_AT = 400
"""Places of a name, of which one may be outside of functions."""
_NO_STATEMENT = re.compile(rb"(?:\busing\b|#\s*include\b|\bfriend\b|\bgoto\b)[^;\n]*\Z")
_BRACKETS = re.compile(rb"\([^()]*\)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_TEMPLATE = re.compile(rb"\btemplate\s*<")
_HEAD_END = re.compile(rb"[{;=]")


@cache
def grammar() -> Grammar:
    """The grammar of tree-sitter-cuda."""
    return Grammar(tree_sitter_cuda.language())


def parsed(
    data: bytes,
    old: Tree | None = None,
    ranges: Sequence[Range] = (),
    masked: Callable[[], bytes] | None = None,
    around: Callable[[], bytes] | None = None,
) -> tuple[Tree, bool]:
    """The tree of a text, and whether places in it were mended: such a tree is no `old` one.

    `ranges` are those that are read; `masked` gives the text without comments and literals; `around` the text of the
    file that names in a piece of text are from, without them too.
    """
    parser = Parser(grammar(), included_ranges=list(ranges)) if ranges else Parser(grammar())
    tree = parser.parse(data, old) if old is not None else parser.parse(data)
    suspects = [*_openings(data), *(m.start() for m in _CASTS_NAME.finditer(data))]
    buffer: bytearray | None = None
    if not suspects:
        return tree, False
    names = _Names(data, masked or (lambda: blank_literals(data)), around)
    while True:  # a comparison's operands are read anew, and no place is mended twice
        names.root = tree.root_node
        places = [place for at in suspects if (place := _place(names, at, buffer)) is not None]
        if not places:
            break
        buffer = buffer if buffer is not None else bytearray(data)
        for place in places:
            buffer[place.at : place.at + len(place.new)] = place.new
            end = place.at + len(place.new)
            behind = Point(place.point[0], place.point[1] + len(place.new))
            tree.edit(
                start_byte=place.at,
                old_end_byte=end,
                new_end_byte=end,
                start_point=place.point,
                old_end_point=behind,
                new_end_point=behind,
            )
        tree = parser.parse(buffer, tree)
    if buffer is not None:
        buffer[:] = data
    return tree, buffer is not None


def _openings(data: bytes) -> Iterator[int]:
    """Each `<` that may open what is closed in the same statement."""
    last = 0
    for close in _CLOSES.finditer(data):
        at = close.start()
        start = max(last, *(data.rfind(end, last, at) + 1 for end in (b";", b"{", b"}")))
        for opening in _OPENS.finditer(data, start, at):
            yield opening.start()
        last = at


@dataclass(frozen=True, slots=True)
class _Place:
    """Where other characters are parsed, all on one line."""

    at: int
    point: Point
    new: bytes


def _place(names: _Names, at: int, buffer: bytearray | None) -> _Place | None:
    """What is to be parsed at a place in another way; None where the tree is right, or nothing tells that it is not.

    Where others are (`buffer`), a comparison keeps others from being read as a template in its turn.
    """
    token = names.root.descendant_for_byte_range(at, at + 1) if names.root is not None else None
    node = token.parent if token is not None else None
    if token is None or node is None or token.start_byte != at:
        return None
    if node.type == "cast_expression" and token.type == "(":
        return _brackets(node, names)
    is_list = node.type == "template_argument_list" and token.type == "<"
    compares = buffer is not None and node.type == "binary_expression" and token.type == "<"
    return _opening(node, token, names) if is_list or compares else None


def _opening(node: Node, token: Node, names: _Names) -> _Place | None:
    """The `<` of a comparison, or of what reads like a list of template arguments, behind a value."""
    data, start, end = names.data, token.start_byte, node.end_byte
    place = _Place(start, token.start_point, b">")
    head = _BEFORE.match(data[max(0, start - 200) : start][::-1])
    name, link = (head[1][::-1], (head[2] or b"")[::-1]) if head is not None else (b"", b"")
    if not name or name in _CASTS:
        return None
    if node.type == "template_argument_list":
        if data[end - 1 : end + 1] == b">=":
            return place
        if _NO_OPERAND.match(data, end):
            return None
    return place if names.is_value(link, name, node) else None


def _brackets(cast: Node, names: _Names) -> _Place | None:
    """The `(a)` of what reads like a cast, where `a` is a value and the sign behind it has two operands."""
    kind, value = cast.child_by_field_name("type"), cast.child_by_field_name("value")
    operator = value.child_by_field_name("operator") if value is not None else None
    if kind is None or value is None or operator is None or operator.type not in _SIGNS:
        return None
    close = names.data.rfind(b")", kind.end_byte, value.start_byte)
    written = names.data[cast.start_byte : close + 1]
    match = _NAME_IN_BRACKETS.fullmatch(written)
    if match is None or b"\n" in written:
        return None
    is_value = names.is_value(b"", match[1], cast)
    return _Place(cast.start_byte, cast.start_point, b"_" * len(written)) if is_value else None


@dataclass(slots=True)
class _Names:
    """What the text of a file says of its names."""

    data: bytes
    mask: Callable[[], bytes]
    around: Callable[[], bytes] | None
    root: Node | None = None
    _text: bytes | None = None
    _templates: frozenset[bytes] | None = None
    _places: dict[tuple[bytes, bytes], list[int]] = field(default_factory=dict)
    _functions: list[tuple[int, int]] = field(default_factory=list)
    _outside: dict[tuple[bytes, bytes], bool] = field(default_factory=dict)

    @property
    def text(self) -> bytes:
        """The text without comments and literals, and the file's behind it that it is from."""
        if self._text is None:
            self._text = self.mask() + (b"\n;" + self.around() if self.around is not None else b"")
        return self._text

    def is_value(self, link: bytes, name: bytes, node: Node) -> bool:
        """Whether a name at a node is a variable, a constant or a member with a value."""
        link = b"." if link == b"->" else link
        if link == b"." and name in _COMPONENTS:
            return True
        places = self._places.get((link, name))
        if places is None:
            places = self._places[link, name] = list(_places_of_value(self.text, link, name))
        if not places:
            return False
        function = self._function(node)
        if function is not None:
            start, end = function
            behind = bisect_left(places, start)
            if behind < len(places) and places[behind] < end:
                return True
        if name in self.templates:
            return False
        outside = self._outside.get((link, name))
        if outside is None:
            outside = link != b"" or any(map(self._is_outside, islice(places, _LOOKED_AT)))
            self._outside[link, name] = outside
        return outside

    def _is_outside(self, place: int) -> bool:
        """Whether a place is in no function: what stands there is seen by all."""
        if place >= len(self.data) or self.root is None:
            return True
        node = self.root.descendant_for_byte_range(place, place + 1)
        return node is None or self._function(node) is None

    def _function(self, node: Node) -> tuple[int, int] | None:
        """The range of the function around a node, with the template's parameters in front of it."""
        at, behind = node.start_byte, bisect_right(self._functions, (node.start_byte, len(self.data)))
        if behind and self._functions[behind - 1][1] > at:
            return self._functions[behind - 1]
        around = _function(node)
        if around is not None:
            insort(self._functions, around)
        return around

    @property
    def templates(self) -> frozenset[bytes]:
        """The names that the heads of templates hold: those of the templates, and of the types in their heads."""
        if self._templates is None:
            words: set[bytes] = set()
            for match in _TEMPLATE.finditer(self.text):
                close = closing_angle(self.text, match.end() - 1)
                start = match.end() if close is None else close
                end = _HEAD_END.search(self.text, start)
                head = self.text[start : end.start() if end is not None else start]
                while (bare := _BRACKETS.sub(b" ", head)) != head:
                    head = bare
                words.update(_WORD.findall(head))
            self._templates = frozenset(words)
        return self._templates


def _places_of_value(text: bytes, link: bytes, name: bytes) -> Iterator[int]:
    """Where a name that is linked like that stands as a value, or is declared as one."""
    start, length = text.find(name), len(name)
    is_value = _IS_MEMBER if link == b"." else _IS_VALUE
    while start >= 0:
        end = start + length
        used = is_value.match(text, end)
        declared = not link and _IS_DECLARED.match(text, end)
        if used or declared or (not link and _NUMBER.match(text, end)):
            before = text[max(0, start - 200) : start]
            is_used = used and _link(before) == link and not _NO_STATEMENT.search(before)
            kind = _TYPE_BEFORE.search(before) if declared else None
            is_defined = not link and _DEFINE.search(before) and _NUMBER.match(text, end)
            if is_used or is_defined or (kind is not None and kind[1] not in _NO_TYPES):
                yield start
        start = text.find(name, end)


def _link(before: bytes) -> bytes | None:
    """What joins a name to what stands before it: `.`, `::` or nothing; None within another name."""
    if before[-1:].isalnum() or before.endswith(b"_"):
        return None
    bare = before.rstrip()
    if bare.endswith(b"::"):
        return b"::"
    return b"." if bare.endswith(b"->") or (bare.endswith(b".") and not bare.endswith(b"..")) else b""


def _function(node: Node) -> tuple[int, int] | None:
    here: Node | None = node
    while here is not None and here.type != "function_definition":
        here = here.parent
    if here is None:
        return None
    outer = here.parent
    first = outer if outer is not None and outer.type == "template_declaration" else here
    return first.start_byte, here.end_byte
