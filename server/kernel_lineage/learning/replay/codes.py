"""Why a transition could not be decided, where the gate's own codes (`kernel_gate.reasons`) do not say it.

As there, a code is never renamed or given another meaning; a member is its own name in kebab case.
"""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """A code, what it means and what to do about it."""

    means: str
    remedy: str

    def __new__(cls, code: str, means: str, remedy: str) -> Code:
        """A member from its row."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.means, member.remedy = means, remedy
        return member

    # fmt: off
    AGREES = (
        "agrees",
        "Both states give the same on every case; nothing was timed.",
        "Replay on a GPU for the effect.",
    )
    NARROWER = (
        "narrower",
        "Both states give the same on the workload's own shapes and inputs; elsewhere only the earlier one is right.",
        "Nothing; the counterexample is what a validity condition of the step has to exclude.",
    )
    NARROWED = (
        "narrowed",
        "The later state fails on some of what the workload names, and probing has shown where it is right.",
        "Nothing; what it says is a validity condition of the step.",
    )
    NO_EFFECT = (
        "no-effect",
        "Both states give the same and take the same time here: the step is right, and no gain or loss is to be seen.",
        "Name larger sizes, or another device, in a workload, where the step is to be seen.",
    )
    TOO_SHORT = (
        "too-short",
        "Both states give the same; both take so little time that launching them is what was timed.",
        "Name larger sizes in a workload.",
    )
    FAILURE_SEEN = (
        "failure-seen",
        "The earlier state fails where the later one is right: the failure that history speaks of, or one like it.",
        "Nothing; the counterexample is kept as a risk of the step that brought the failure.",
    )
    FAILURE_NOT_SEEN = (
        "failure-not-seen",
        "Both states give the same: the workload does not reach what was fixed.",
        "Write a workload with the sizes, types or values that the fix speaks of.",
    )
    LATER_STATE_FAILS = (
        "later-state-fails",
        "The later state does not pass its own check.",
        "See the reason; mend the workload when it asks for what no version promised.",
    )
    EARLIER_STATE_FAILS = (
        "earlier-state-fails",
        "The earlier state does not pass its own check, so there is nothing to compare the later one with.",
        "See the reason; mend the workload, or read the step as a fix.",
    )
    NEEDS_TIMES = (
        "needs-times",
        "Both states give the same; whether what was undone was slower can be seen on a GPU only.",
        "Replay on a GPU.",
    )
    SAME_PROGRAM = (
        "same-program",
        "Both states are one program to the device: what changed is host code, comments or names.",
        "Nothing; the step has no effect on the kernel.",
    )
    NO_WORKLOAD = (
        "no-workload",
        "Nothing says how to run the kernel: no workload names it, and no state's launch site tells it whole.",
        "`klineage workload init FILE:KERNEL`, fill in what it did not find, and commit the file.",
    )
    CONTRACT_DIFFERS = (
        "contract-differs",
        "The two states take different arguments, and one's cannot be told from the other's.",
        "Nothing, when the kernel's task was changed; else write a workload that names the arguments of both.",
    )
    NO_PROGRAM = (
        "no-program",
        "No program can be cut out of the state: the file does not parse, or lacks the kernel.",
        "See the reason.",
    )
    WORKLOAD_BLIND = (
        "workload-blind",
        "The states agree, but the drafted workload does not notice wrong kernels either.",
        "Write a workload whose inputs vary and whose tolerance is small.",
    )
    STEP_LOST = (
        "step-lost",
        "The process that worked on the step ended, or failed, without a result.",
        "Replay again; it is not kept. When it is lost again, report it with the reason.",
    )
    # fmt: on
