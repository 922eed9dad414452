"""Edges with facts → transitions: intent, mechanisms, guards, what each answers, and what history says against it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import astuple, replace

from kernel_lineage.history import blame
from kernel_lineage.history.difference import Difference, Texts, text_difference, with_facts
from kernel_lineage.history.facts import Facts
from kernel_lineage.history.intent import is_compound, judge
from kernel_lineage.history.message_signs import says_fix
from kernel_lineage.history.model import ChangedPart, Commit, Intent, Risk, Transition, TransitionKind
from kernel_lineage.history.outline import digest
from kernel_lineage.history.risks import said_in, said_in_comments, said_in_message
from kernel_lineage.history.walk import Edge, Node, Walk
from kernel_lineage.kernels.source import Language

_REVERTS = re.compile(
    r"\b(?:revert\w*|back ?out|roll(?:ing|ed)? ?back|undo|(?:go(?:es|ing)? )?back to|(?:bring|put|add)\w* back|"
    r"restor(?:e[sd]?|ing) (?:the )?(?:old|original|previous)|again$)",
    re.IGNORECASE,
)


def version_id(node: Node) -> str:
    """The same for the same commit, path and symbol, whatever else is in the history."""
    return digest((node.commit or "").encode(), node.path.encode(), node.key.encode())[:12]


def transition_id(before: str, after: str) -> str:
    """The same for the same two versions."""
    return digest(before.encode(), after.encode())[:12]


class Judge:
    """Turns edges into transitions in the order of history, each seeing those before it."""

    def __init__(
        self,
        walk: Walk,
        commits: Mapping[str, Commit],
        directions: Mapping[str, str],
        text_of: Callable[[str], str],
        facts_of: Callable[[Node], Facts],
        notes: Callable[[Node], Mapping[int, str]],
    ):
        self._walk = walk
        self._commits = commits
        self._directions = directions
        self._texts = Texts(text_of)
        self._of = facts_of
        self._notes = notes
        self._comment_risks: dict[str, tuple[tuple[str, str], ...]] = {}
        self._compared: dict[int, Difference] = {}
        self._incoming: dict[int, list[int]] = {}
        self._kernels_in: dict[str | None, int] = {}
        for index, edge in enumerate(walk.edges):
            self._incoming.setdefault(edge.after, []).append(index)
            self._kernels_in[edge.commit] = self._kernels_in.get(edge.commit, 0) + 1

    def compare(self, first: int) -> None:
        """Compares the texts of the transitions from `first` on, which needs no facts."""
        nodes = self._walk.nodes
        for index in range(first, len(self._walk.edges)):
            edge = self._walk.edges[index]
            self._compared[index] = text_difference(nodes[edge.before], nodes[edge.after], self._texts)
            self._comments(nodes[edge.after])

    def continue_with(self, transitions: list[Transition]) -> None:
        """Appends the transitions that are missing; adds risks to the earlier ones that they answer."""
        for index in range(len(transitions), len(self._walk.edges)):
            edge = self._walk.edges[index]
            made = self._transition(index, edge, transitions)
            transitions.append(made)

    def _transition(self, index: int, edge: Edge, earlier: list[Transition]) -> Transition:
        walk = self._walk
        before, after = walk.nodes[edge.before], walk.nodes[edge.after]
        texts = self._compared.pop(index, None) or text_difference(before, after, self._texts)
        diff = with_facts(texts, before, after, self._of(before), self._of(after))
        commit = self._commits.get(edge.commit or "")
        line = [i for i in blame.ancestors(walk, self._incoming, edge.before) if i < index]
        variant = edge.kind is TransitionKind.VARIANT
        reverted, how = self._reverted(edge, line, commit, diff)
        copied = edge.note.startswith("copied from")
        intent, because = judge(diff, commit, self._kernels_in[edge.commit], how, variant, copied)
        answers, mends = reverted, None
        if intent is not Intent.REVERT:
            answers, mends = self._answered(intent, edge, line, commit, diff)
        ids = version_id(before), version_id(after)
        made = Transition(
            id=transition_id(*ids),
            before=ids[0],
            after=ids[1],
            kind=TransitionKind.REVERT if intent is Intent.REVERT else edge.kind,
            intent=intent,
            added=diff.added,
            removed=diff.removed,
            commit=edge.commit,
            compound=is_compound(diff, self._directions),
            because=self._because(because, edge, after),
            risk=tuple(self._own_risks(before, after, commit, intent)),
            answers=None if answers is None else earlier[answers].id,
            guards_added=diff.guards_added,
            guards_removed=diff.guards_removed,
            occurrences=diff.occurrences,
            mends=None if mends is None else version_id(walk.nodes[mends]),
            changed=_changed(before, after),
        )
        if answers is not None and intent in (Intent.REVERT, Intent.FIX):
            subject = commit.subject if commit else "the work tree"
            kind = "revert" if intent is Intent.REVERT else "bug"
            _add_risk(earlier, answers, Risk(kind, subject, edge.commit, made.id))
            if intent is Intent.REVERT:
                for also, message in said_in_message(commit):
                    _add_risk(earlier, answers, Risk(also, message, edge.commit, made.id))
        return made

    def _reverted(
        self, edge: Edge, line: list[int], commit: Commit | None, diff: Difference
    ) -> tuple[int | None, str]:
        """The transition that this one undoes, and how that is seen.

        A launcher that is as it was before proves nothing where the message does not say so: it moved out and in again.
        """
        if edge.kind is TransitionKind.VARIANT:
            return None, ""
        old, new = self._walk.nodes[edge.before], self._walk.nodes[edge.after]
        in_place = edge.kind is TransitionKind.EDIT or old.symbol != new.symbol
        exact = blame.undone(self._walk, line, edge) if in_place else None
        by_message = commit is not None and _REVERTS.search(commit.subject)
        if exact is not None and (by_message or diff.device_changed) and old.seen != new.seen:
            sha = self._walk.edges[exact].commit
            return exact, f"brings back what was there before {sha[:10] if sha else 'the last change'}"
        if by_message and commit is not None:
            target = blame.named(self._walk, line, commit, self._commits)
            if target is None:
                target = blame.introduced(self._walk, line, edge, self._texts)[1]
                if target is not None and not blame.takes_back(self._walk, edge, target, self._texts):
                    target = None
            if target is not None:
                return target, f'message: "{commit.subject}"'
        return None, ""

    def _answered(
        self, intent: Intent, edge: Edge, line: list[int], commit: Commit | None, diff: Difference
    ) -> tuple[int | None, int | None]:
        """The transition that a fix answers, and the version that brought in what it mends."""
        narrows = not diff.device_changed and any(g.where == "launcher" for g in diff.guards_added)
        variant = edge.kind is TransitionKind.VARIANT
        mends = intent is Intent.FIX or says_fix(commit)  # a commit can also fix what it makes faster
        if variant or diff.same_code or not (mends or narrows):
            return None, None
        if mends:
            target = blame.named(self._walk, line, commit, self._commits)
            if target is not None:
                return target, self._walk.edges[target].after
        version, target = blame.introduced(self._walk, line, edge, self._texts)
        return target, version

    def _own_risks(self, before: Node, after: Node, commit: Commit | None, intent: Intent) -> list[Risk]:
        """What the message and new comments say against this very change."""
        risks = []
        if intent is not Intent.REVERT:
            risks += [
                Risk(kind, line, commit.sha if commit else None) for kind, line in said_in_message(commit)
            ]
        old, new = (set(self._comments(n)) for n in (before, after))
        risks += [Risk(kind, line, after.commit) for kind, line in sorted(new - old)]
        return list(dict.fromkeys(risks))

    def _comments(self, node: Node) -> list[tuple[str, str]]:
        python = node.language is Language.TRITON
        risks = [risk for line in node.comment.splitlines() for risk in said_in(line)]
        for part in node.parts:
            if part.digest not in self._comment_risks:
                self._comment_risks[part.digest] = tuple(
                    said_in_comments(self._texts.text_of(part.digest), python)
                )
            risks += self._comment_risks[part.digest]
        return risks

    def _because(self, because: str, edge: Edge, after: Node) -> str:
        phrases = [f"{edge.note}: {because}" if edge.note else because]
        number = edge.note.rpartition("→ ")[2]
        if edge.kind is TransitionKind.VARIANT and number.isdigit():
            note = self._notes(after).get(int(number))
            if note:
                phrases.append(f'the file says of {number}: "{note}"')
        return "; ".join(phrases)


def _changed(before: Node, after: Node) -> tuple[ChangedPart, ...]:
    old, new = ({p.digest for _, p in n.all_parts} for n in (before, after))
    differ = [(path, p) for n in (before, after) for path, p in n.all_parts if p.digest in old ^ new]
    return tuple(sorted({ChangedPart(path, p.name, p.role.value) for path, p in differ}, key=astuple))


def _add_risk(transitions: list[Transition], index: int, risk: Risk) -> None:
    old = transitions[index]
    if risk not in old.risk:
        transitions[index] = replace(old, risk=(*old.risk, risk))
