"""Code actions: the skills that apply to the kernel at the cursor. Each leads to `klineage.apply`; none holds an edit.

An edit is made only for an accepted verdict, and a verdict takes a compiler and a device: neither may run when a menu
is listed or a pointer rests on an entry. So a deterministic rewrite, which could be written into the answer here,
takes the same way as a model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types

from kernel_gate.reasons import Reason
from kernel_lineage.editor.diagnostics import SOURCE, diagnostics
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.links import apply_arguments
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.stating import stating
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.check_document import UNMASKED_CODE
from kernel_lineage.rewrite.offers_document import KernelOffersDocument
from kernel_lineage.rewrite.standing import Standing
from kernel_lineage.skills.applicable import Applicable
from kernel_lineage.skills.card_text import no_use
from kernel_lineage.skills.conditions.truth import Truth

KIND = "refactor.rewrite.klineage"
_REPAIRS = {
    "race": "put the barrier back",
    "out-of-bounds": "guard the access",
    "address-overflow": "widen the index",
    UNMASKED_CODE: "add the mask of its tile",
}
_UNREPAIRABLE = {Reason.INVARIANT_UNREADABLE, Reason.INVARIANT_UNDECIDED}
_WAITS = 2.0
"""Seconds that a person waits for what the assists make; later, the menu goes by the conditions alone."""


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(
            code_action_kinds=[KIND, types.CodeActionKind.QuickFix], resolve_provider=True
        ),
    )
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        snapshot = await server.documents.snapshot(params.text_document.uri)
        if snapshot is None:
            return []
        fixes = list(_repairs(server, snapshot, params))
        if not _wanted(params.context, KIND):
            return fixes
        offset = snapshot.text.offset(params.range.start)
        kernel = snapshot.kernel_at(offset)
        if kernel is None:
            return fixes
        candidates = one_per_skill(await server.applicability.at(snapshot, kernel), offset)
        asked = _asked_for(params.context)
        offers = await server.offers.within(_WAITS if asked else 0.0, snapshot, kernel)
        stated = await stating(server, snapshot, kernel, candidates) if asked else []
        return fixes + list(_actions(server, snapshot, kernel, candidates, offers, asked)) + stated


def one_per_skill(candidates: Sequence[Applicable], offset: int) -> tuple[Applicable, ...]:
    """Each skill once, at the anchor that the cursor is in, or else at its best."""
    best: dict[str, Applicable] = {}
    for one in candidates:
        previous = best.get(one.skill.id)
        if previous is None or (_in(one, offset) and not _in(previous, offset)):
            best[one.skill.id] = one
    return tuple(best.values())


def why_not(
    server: EditorServer, candidate: Applicable, offers: KernelOffersDocument | None, asked: bool
) -> str | None:
    """Why a skill cannot be applied here, in one line; None when the gate can be asked.

    A hypothesis is there for a person who `asked`, and by itself where a setting says so.
    """
    if (refusal := server.trust.refusal) is not None:
        return refusal
    if not candidate.possible:
        return candidate.reason
    refused = (
        None if offers is None else next((r for r in offers.refused if r.skill == candidate.skill.id), None)
    )
    if refused is not None and refused.standing is not Standing.NO_ASSIST:
        needs = "it needs a fact: " if refused.standing is Standing.NEEDS_FACT else ""
        return f"{needs}{refused.reason}"
    offered = offers is None or any(one.skill == candidate.skill.id for one in offers.offers)
    if not offered and refused is None:
        return "another skill makes the same change"
    if not candidate.skill.admitted and not asked and not server.settings.hypotheses:
        return f"it is a hypothesis: {no_use(candidate.skill)}"
    if candidate.skill.assist is None and not server.settings.model_name:
        return "no assist carries this skill over, and no model is set up (klineage.model.name)"
    return None


def _actions(
    server: EditorServer,
    snapshot: Snapshot,
    kernel: Kernel,
    candidates: Sequence[Applicable],
    offers: KernelOffersDocument | None,
    asked: bool,
) -> Iterator[types.CodeAction]:
    # Deterministic before model; applicability has put those that hold first.
    for one in sorted(candidates, key=lambda a: a.skill.assist is None):
        reason = why_not(server, one, offers, asked)
        if reason is not None and not (asked and _shows_disabled(server)):
            continue
        by = "assist" if one.skill.assist is not None else "model"
        arguments = apply_arguments(snapshot, kernel, one, by)
        yield types.CodeAction(
            title=_title(server, one),
            kind=KIND,
            disabled=None if reason is None else types.CodeActionDisabled(reason=reason),
            command=None
            if reason is not None
            else types.Command(title=one.skill.title, command="klineage.apply", arguments=[arguments]),
            data=arguments,
        )


def _repairs(
    server: EditorServer, snapshot: Snapshot, params: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    """Quick fixes of the findings that are shown here. Whether there is one is found out when it is asked for."""
    if not _wanted(params.context, types.CodeActionKind.QuickFix) or not server.trust.granted:
        return
    shown = [d for d in params.context.diagnostics if d.source == SOURCE]
    actions: dict[tuple[str, int], types.CodeAction] = {}
    for diagnostic in [*shown, *_of_lines(server, snapshot, params.range)]:
        line = diagnostic.range.start.line + 1
        kernel = next(
            (k for k in snapshot.source.kernels if k.span.first_line <= line <= k.span.last_line), None
        )
        # A hint is about sizes that nobody comes with: there the kernel is right, and a change has to be timed.
        is_hint = diagnostic.severity == types.DiagnosticSeverity.Hint
        if kernel is None or is_hint or diagnostic.code in _UNREPAIRABLE:
            continue
        repair = _REPAIRS.get(str(diagnostic.code), "put back what was right")
        title = f"Repair {kernel.name}: {repair}, and check it"
        if diagnostic not in shown and any(title == other for other, _ in actions):
            continue  # shown already; both accesses of a race may be findings, each the other side of the other
        arguments = {"uri": snapshot.uri, "kernel": kernel.name, "line": line, "title": title}
        action = actions.setdefault(
            (title, line),  # several accesses of a line may lack one guard
            types.CodeAction(
                title=title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[],
                command=types.Command(title, "klineage.repair", arguments=[arguments]),
            ),
        )
        action.diagnostics = [*(action.diagnostics or []), diagnostic]
    yield from actions.values()


def _of_lines(server: EditorServer, snapshot: Snapshot, wanted: types.Range) -> list[types.Diagnostic]:
    """The findings of these lines, wherever in them the cursor is, then those elsewhere that have another side there,
    such as the write that a read races with.
    """
    if server.checks is None:
        return []
    lines = range(wanted.start.line + 1, wanted.end.line + 2)
    findings = [f for one in server.checks.judged(snapshot.uri).values() for f in one.document.findings]
    here = [f for f in findings if f.line in lines]
    elsewhere = [f for f in findings if f not in here and any(r.line in lines for r in f.related)]
    return diagnostics([*here, *elsewhere], snapshot.text, snapshot.uri)


def _title(server: EditorServer, candidate: Applicable) -> str:
    title = candidate.skill.title
    if not candidate.skill.admitted:
        title += " (a hypothesis)"
    if candidate.skill.assist is None and server.settings.model_name:
        title += f", written by {server.settings.model_name}"
    if candidate.verdict is Truth.UNKNOWN:
        title += " (guarded: not all conditions are known)"
    if candidate.verdict is Truth.FAILS:
        title += " (guarded: not for all sizes)"
    return title


def _in(candidate: Applicable, offset: int) -> bool:
    return candidate.anchor.span.start <= offset <= candidate.anchor.span.end


def _wanted(context: types.CodeActionContext, ours: str) -> bool:
    """Whether `only`, when it is given, asks for a kind that ours belongs to."""
    return context.only is None or any(kind == ours or ours.startswith(f"{kind}.") for kind in context.only)


def _asked_for(context: types.CodeActionContext) -> bool:
    """Whether a person asked: then what cannot be done is listed too, with the reason."""
    return bool(context.only) or context.trigger_kind == types.CodeActionTriggerKind.Invoked


def _shows_disabled(server: EditorServer) -> bool:
    document = server.client_capabilities.text_document
    return bool(document and document.code_action and document.code_action.disabled_support)
