"""Beside a GPU the emulated device answers the same question: what it sees rejects, what it did not see is said."""

from dataclasses import replace

from gate.programs import affine, workload
from gate.timed_device import TimedEmulated
from kernel_gate.cases import special_at_callers_sizes
from kernel_gate.gate import judge
from kernel_gate.kept import Kept
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.worker import Worker

TIMED = workload(
    "\n[[profile_dims]]\nN = 3\nC = 70\n", **{'kind = "output"': 'kind = "output"\nnoalias = true'}
)
NEIGHBOUR = affine(
    "if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
    """__shared__ float s[64];
    int t = threadIdx.x, other = i ^ 32;
    s[t] = i < n ? x[i] : 0.0f;
    BARRIER
    if (other < n) y[other] = 2.0f * s[t ^ 32] + 1.0f;""",
)


class InThisProcess(Worker):
    """Judges here: starting a process would take longer than the verdict."""

    def judge(self, request, **_):
        programs = request.baseline, request.candidate
        self.asked = request
        return judge(*programs, request.workload, device=request.device, options=request.options)


def judged(candidate, **options):
    asked = GateOptions.model_validate({"profile_seconds": 20.0, "need": "not_slower", **options})
    with Kept() as kept:
        kept.devices.keep(TimedEmulated())
        kept.watcher = InThisProcess()
        return judge(affine(), candidate, TIMED, device="cuda", options=asked, kept=kept)


def with_barriers(text: str):
    return replace(NEIGHBOUR, source=NEIGHBOUR.source.replace("BARRIER", text))


def test_a_race_that_gives_right_values_on_the_gpu_is_rejected():
    """The stand-in for a GPU has no race detector, and gives every value right."""
    only_near_zero = "if (x[0] < 500.0f) __syncthreads();"
    alone = judged(with_barriers(only_near_zero), watch_seconds=0)
    assert [alone.stage(name).status for name in ("check", "sanitize")] == ["pass", "pass"]
    v = judged(with_barriers(only_near_zero))
    assert (v.outcome, v.code) == ("rejected", Reason.RACE), v.reason
    assert v.reason.startswith("Rejected by watch: ")


def test_what_nobody_watched_stands_in_the_acceptance():
    v = judged(affine("2.0f * x[i]", "x[i] * 2.0f"), watch_seconds=0)
    assert v.outcome == "accepted"
    assert v.reason.endswith("not watched by the emulated device: watching is off (--watch-seconds 0)")


def test_a_case_beyond_the_time_for_watching_is_named():
    v = judged(affine("2.0f * x[i]", "x[i] * 2.0f"), watch_seconds=1e-9)
    assert v.outcome == "accepted"
    assert "not watched by the emulated device" in v.reason
    assert v.stage("watch").code is Reason.NOT_WATCHED


def test_a_right_candidate_is_watched_in_every_case():
    v = judged(affine("2.0f * x[i]", "x[i] * 2.0f"))
    watched = v.stage("watch")
    assert (v.outcome, watched.status, watched.code) == ("accepted", "pass", None)
    # The callers' sizes are watched as far as the time allows, with seeds of their own.
    alone = {str(case) for case in special_at_callers_sizes(TIMED, v.environment["options"]["seed"])}
    assert len(alone) == 2
    assert set(v.stage("check").details["passed"]) - alone <= set(watched.details["passed"])
    reached = watched.details["callers"]["largest"]
    assert all(reached[name] >= extent for name, extent in TIMED.profile_dims[0].items())
