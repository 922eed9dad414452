"""How surely two versions are one kernel, and which versions are worth asking about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kernel_lineage.history.naming import alike
from kernel_lineage.history.similarity import Similarity
from kernel_lineage.history.variants import parameter_names, same_task
from kernel_lineage.history.walk import Node
from kernel_lineage.kernels.source import Language

SAME_NAME_AT_LEAST = 0.35
"""A kernel of the same name elsewhere is taken as the same lineage from this similarity on."""
LIKE_TEXT_AT_LEAST = 0.6
"""A kernel whose name has the same words, or some more, is a rename, copy or split from this on."""
ANY_NAME_AT_LEAST = 0.85
"""The same whatever the names are: short kernels have much text in common without being related."""
RENAMED_AT_LEAST = 0.7
"""The same when the commit removed the one and added the other."""
NEXT_STEP_AT_LEAST = 0.2
"""The least likeness of two kernels in neighbouring steps: a step may rewrite most of a kernel."""
_MOST_OF_LIKE_TEXT = 12


class Likeness:
    """Compares the versions of one walk, whose nodes it is given; the list may grow."""

    def __init__(self, nodes: Sequence[Node], text_of: Callable[[str], str]):
        self._nodes = nodes
        self._text_of = text_of
        self._similarity = Similarity(text_of)
        self._by_sketch: dict[int, set[int]] = {}
        self._sketched = 0

    def score(self, one: Node, other: Node, any_name: float = ANY_NAME_AT_LEAST) -> float:
        """How surely two versions are one kernel; 0 when they are not, above 1 when they share their name."""
        if one.language is not other.language:
            return 0.0
        ratio = self._ratio(one, other)
        # A set of files that one commit brings has no order: what they share is a name that many use, or a few lines.
        together = one.commit == other.commit and one.path != other.path
        if one.symbol == other.symbol:
            return ratio + 1 if ratio >= (LIKE_TEXT_AT_LEAST if together else SAME_NAME_AT_LEAST) else 0.0
        like_names = alike(one.symbol, other.symbol)
        if together and not like_names:
            return 0.0
        at_least = LIKE_TEXT_AT_LEAST if like_names else any_name
        return ratio if like_names is not None and ratio >= at_least else 0.0

    def sharing_text(self, node: Node) -> Iterable[int]:
        """The versions that share most parts of a text that is not among them yet, a few."""
        self._sketch_all()
        hits: dict[int, int] = {}
        for shingle in self._sketch(node):
            for index in self._by_sketch.get(shingle, ()):
                hits[index] = hits.get(index, 0) + 1
        best = sorted(hits, key=lambda i: (-hits[i], -i))
        like = [i for i in best if hits[i] >= 2 and self._nodes[i].language is node.language]
        return like[:_MOST_OF_LIKE_TEXT]

    def closest(self, index: int, among: Sequence[int]) -> int:
        """The version most like another; the earliest of equals."""
        return max(among, key=lambda i: (self._ratio(self._nodes[i], self._nodes[index]), -i))

    def can_follow(self, before: int, after: int) -> bool:
        """Kernels of neighbouring steps with hardly anything in common are helpers of different steps."""
        one, other = self._nodes[before], self._nodes[after]
        return self._ratio(one, other) >= NEXT_STEP_AT_LEAST or self.same_task(one, other)

    def same_task(self, one: Node, other: Node) -> bool:
        """Whether two kernels take so much the same parameters that they are taken to compute the same."""
        return same_task(*(parameter_names(self._text_of(n.body), n.symbol) for n in (one, other)))

    def _ratio(self, one: Node, other: Node) -> float:
        return self._similarity.ratio(one.body, other.body, one.language is Language.TRITON)

    def _sketch(self, node: Node) -> Iterable[int]:
        return self._similarity.sketch(node.body, node.language is Language.TRITON)

    def _sketch_all(self) -> None:
        for index in range(self._sketched, len(self._nodes)):
            for shingle in self._sketch(self._nodes[index]):
                self._by_sketch.setdefault(shingle, set()).add(index)
        self._sketched = len(self._nodes)
