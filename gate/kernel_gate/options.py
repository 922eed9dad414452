"""What a caller may ask of a gate run."""

from __future__ import annotations

import secrets
from typing import Literal

from pydantic import BaseModel, Field


class GateOptions(BaseModel, frozen=True, extra="forbid"):
    """Settings of one run; all of them are part of the evidence."""

    seed: int = 0
    """The seed of inputs and hidden shapes; 0: drawn for each verdict, and kept in its environment."""
    hidden: bool = True
    """Check shapes around the workload's as well."""
    need: Literal["faster", "not_slower"] = "faster"
    """What the profile must show for the candidate to be accepted."""
    guard: str | None = None
    """Condition over dims under which the candidate's new path runs; elsewhere it may cost what the guard costs."""
    build_seconds: float = Field(default=120.0, gt=0)
    """For compiling one program."""
    allow_uncontained: bool = False
    """Compile Triton programs, which are Python, also where there is no sandbox for them."""
    case: dict[str, int | float] | None = None
    """Check this shape only, with `seed`, `inputs` and `memory` as a failure named them; then nothing is accepted."""
    inputs: str = "as declared"
    """That case's values: a `cases.Variation`."""
    memory: str = ""
    """That case's buffers: a `cases.Memory`; "" for buffers as an allocator places them."""
    emulated_arch: str = Field(default="sm_90", pattern=r"^sm_\d{2,3}$")
    """What the emulated device is: programs are compiled for it, by the compiler that is installed."""
    check_seconds: float = Field(default=120.0, gt=0)
    watch_seconds: float = Field(default=10.0, ge=0)
    """Beside a GPU: what the emulated device may take to watch the cases of the check; 0: it does not watch."""
    algebra_seconds: float = Field(default=5.0, ge=0)
    """For asking whether both programs compute the same expression; 0: not asked."""
    callers_seconds: float = Field(default=2.0, ge=0)
    """Without a GPU: of a processor, for the callers' shapes (`profile_dims`), after the others; 0: none."""
    findings_seconds: float | None = Field(default=None, ge=0)
    """For the cases of hidden shapes and other values, once a detector has seen what the baseline does not do: enough
    for who wants to know whether it is wrong. None: half of `check_seconds`."""
    explain: bool = True
    """Say which line a failure is from, and what caused it: that takes longer than to see it."""
    launch_seconds: float = Field(default=10.0, gt=0)
    """What a launch on a GPU may take before it counts as hanging; more when others have taken long and ended."""
    profile_seconds: float = Field(default=4.0, gt=0)
    """Per profiled shape; measuring ends sooner when the answer is clear, and takes up to four times as long for
    launches of which too few for an interval fit."""
    interval: float = Field(default=0.005, gt=0)
    """The smallest difference that is looked for, as a share of the time; `same` means within half of it."""
    warm: bool = False
    """Time with a warm L2 cache as well, for the report; the cold times decide."""

    def drawn(self) -> GateOptions:
        """The options with a seed."""
        return self if self.seed else self.model_copy(update={"seed": drawn_seed()})


def drawn_seed() -> int:
    """A seed that no candidate can know."""
    return 1 + secrets.randbelow(1 << 30)
