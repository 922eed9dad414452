"""Pieces of text as nodes: expressions, statements and definitions that stand in no tree as they are to be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from kernel_lineage.code.cuda.conditionals import chosen_branches
from kernel_lineage.kernels.cuda_text import Macro
from kernel_lineage.kernels.cuda_trees import parsed

_ATTRIBUTES = re.compile(
    r"\b(?:__align__|alignas|__launch_bounds__|__cluster_dims__|__attribute__|__maxnreg__)\s*"
    r"\((?:[^()]|\([^()]*\))*\)|\[\[[\w:, ()]*\]\]|\b(?:__restrict__|__restrict|__forceinline__|__noinline__)\b"
)
_CAST_OF_NAME = re.compile(
    r"(?<![\w>\])])(\(\s*(?:(?:const|unsigned|signed|struct)\s+)*[\w:]+(?:\s*\*)*\s*\)\s*)\(\s*(\w+)\s*\)(?=\s*[-+])"
)
"""`(T)(name) + 1`, which the grammar takes for two casts of `+1`."""
_ELEMENT = re.compile(
    r"((?:[^\w>\])\s]|\breturn\b)\s*)\(([^\S\n]*\w+\s*(?:\[[^][()\n]*\])+[^\S\n]*)\)(?=\s*[-+*&])"
)
"""`(a[i]) + b`, which the grammar takes for a cast to an array: there is none in C++."""
_CONTINUED = re.compile(r"\\\r?\n")


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def normalised(text: str, macros: Mapping[str, Macro]) -> str:
    """Text of the same length without what confuses the grammar: attributes, branches of `#if` not taken."""
    if "#" in text:
        text = chosen_branches(text, macros)
    text = _CAST_OF_NAME.sub(lambda m: m[1] + m[2].ljust(len(m[0]) - len(m[1])), text)
    text = _ELEMENT.sub(r"\1 \2 ", text)
    return _ATTRIBUTES.sub(_blank, text)


def needs_normalising(text: str) -> bool:
    """Whether `normalised` may change a text."""
    return (
        "#if" in text.replace("# ", "#")
        or _ATTRIBUTES.search(text) is not None
        or _CAST_OF_NAME.search(text) is not None
        or _ELEMENT.search(text) is not None
    )


@dataclass(slots=True)
class Snippets:
    """Parsed once per text. `around` gives the text, without comments, of the files that the names in them are from."""

    around: Callable[[], bytes] | None = None
    _nodes: dict[tuple[str, str], Node | None] = field(default_factory=dict)
    _roots: list[Node] = field(default_factory=list)
    """Trees live as long as a node of theirs is held."""

    def expression(self, text: str) -> Node | None:
        """A text as an expression's node; None when it is none."""
        key = ("expression", text)
        if key not in self._nodes:
            root = self._parsed(f"auto _ = {text};")
            first = root.named_children[0] if root.named_children else None
            declarator = first.child_by_field_name("declarator") if first is not None else None
            usable = declarator is not None and declarator.type == "init_declarator" and not root.has_error
            usable = usable and len(root.named_children) == 1
            self._nodes[key] = (
                declarator.child_by_field_name("value") if usable and declarator is not None else None
            )
        return self._nodes[key]

    def statements(self, text: str, row: int = 0) -> Node | None:
        """A text as a compound statement whose first line is `row` (from 0); None when it does not parse."""
        key = (f"statements {row}", text)
        if key not in self._nodes:
            root = self._parsed("\n" * row + f"void _() {{ {text} }}")
            first = root.named_children[0] if root.named_children else None
            self._nodes[key] = (
                first.child_by_field_name("body") if first is not None and not root.has_error else None
            )
        return self._nodes[key]

    def definition(self, text: str) -> Node | None:
        """A text as the definition of a function."""
        key = ("definition", text)
        if key not in self._nodes:
            waiting = list(self._parsed(text).named_children)
            while waiting and waiting[0].type != "function_definition":
                here = waiting.pop(0)
                waiting += here.named_children if here.type in ("template_declaration", "ERROR") else []
            self._nodes[key] = waiting[0] if waiting else None
        return self._nodes[key]

    def members(self, text: str) -> Node | None:
        """The body of a struct, braces included, as its list of fields."""
        key = ("members", text)
        if key not in self._nodes:
            root = self._parsed(f"struct _ {text};")
            first = root.named_children[0] if root.named_children else None
            self._nodes[key] = first.child_by_field_name("body") if first is not None else None
        return self._nodes[key]

    def _parsed(self, text: str) -> Node:
        tree, _ = parsed(_CONTINUED.sub("\n", text).encode(), around=self.around)
        root = tree.root_node
        self._roots.append(root)
        return root
