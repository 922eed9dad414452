"""What people get wrong: each has a code and a message that says what to do, and harms no verdict after it."""

import errno
import tempfile

import numpy as np
import pytest

from gate.programs import affine, workload
from kernel_gate import oracle
from kernel_gate.build import compile as building
from kernel_gate.build.near_names import near_names
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_gate.workload import WorkloadError

BROKEN = affine("y[i] =", "z[i] =")


def verdict(candidate=None, baseline=None, asked=None) -> Verdict:
    return judge(baseline or affine(), candidate or affine(), asked or workload(), device="emulated")


@pytest.fixture(autouse=True)
def unharmed():
    """After each of these, an honest run passes as it did before."""
    yield
    assert [s.status for s in verdict().stages][:3] == [StageStatus.PASS] * 3


@pytest.mark.parametrize(
    ("candidate", "baseline", "outcome", "code", "message"),
    [
        (BROKEN, None, Outcome.REJECTED, Reason.CANDIDATE_DOES_NOT_COMPILE, 'affine.cu:3: identifier "z"'),
        (
            None,
            BROKEN,
            Outcome.INCONCLUSIVE,
            Reason.BASELINE_DOES_NOT_COMPILE,
            'the baseline does not build: affine.cu:3: identifier "z"',
        ),
        (
            affine("affine", "afine"),
            None,
            Outcome.REJECTED,
            Reason.UNKNOWN_KERNEL,
            "no __global__ function named `affine`; it has afine",
        ),
        (
            affine(arguments=("y", "x")),
            None,
            Outcome.REJECTED,
            Reason.LAUNCH_FAILED,
            "the kernel takes 3 arguments; 2 were given",
        ),
        (
            affine(arguments=("y", "x", "size")),
            None,
            Outcome.REJECTED,
            Reason.ARGUMENTS_DIFFER,
            "size",
        ),
        (
            affine(launch=LaunchSpec(("0",), ("64",))),
            None,
            Outcome.REJECTED,
            Reason.LAUNCH_IMPOSSIBLE,
            "a device takes 1 to",
        ),
    ],
    ids=["candidate", "baseline", "unknown kernel", "missing argument", "unknown argument", "empty grid"],
)
def test_programs_that_cannot_be_run(candidate, baseline, outcome, code, message):
    v = verdict(candidate, baseline)
    assert (v.outcome, v.code) == (outcome, code), v.reason
    assert message in v.reason


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('value = "N * C"', 'value = "N * D"', "D"),
        ('shape = ["N", "C"]', 'shape = ["N - 9", "C"]', "negative extent"),
        ('kind = "scalar"', 'kind = "scaler"', "'output', 'input'"),
        ('dtype = "float32"', 'dtype = "float12"', "not one of"),
        ('grid = ["ceil_div(N * C, 64)"]', "", "grid"),
    ],
    ids=["unknown name", "negative extent", "kind", "dtype", "no grid"],
)
def test_workloads_that_cannot_be_had(old, new, message):
    with pytest.raises(WorkloadError, match=r"workload\.toml") as caught:
        workload(**{old: new})
    assert message in str(caught.value)


def test_too_little_memory_is_nobodys_fault():
    huge = workload().model_copy(update={"dims": {"N": (1 << 22,), "C": (1 << 22,)}})
    v = judge(affine(), affine(), huge, device="emulated", options=GateOptions(hidden=False))
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.OUT_OF_MEMORY), v.reason
    assert "take 131072 GB" in v.reason and "use smaller dims" in v.reason


def test_a_full_disk_is_nobodys_fault(nothing_built, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(building, "TemporaryFolder", full)
        v = verdict()
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.DISK_FULL)
    assert tempfile.gettempdir() in v.reason and "TMPDIR" in v.reason


def with_oracle(folder, text: str):
    (folder / "oracle.py").write_text(f"import errno\ndef affine(x, **_):\n    {text}\n")
    return workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": folder})


def full_for(name: str, act):
    """`act`, but for paths that end in a name the disk is full."""

    def tried(path, *rest, **options):
        if str(path).endswith(name):
            raise OSError(errno.ENOSPC, "No space left on device")
        return act(path, *rest, **options)

    return tried


def test_a_disk_without_room_for_the_oracles_inputs_is_nobodys_fault(monkeypatch, tmp_path):
    monkeypatch.setattr(oracle.np, "savez", full_for("inputs.npz", np.savez))
    v = judge(affine(), affine(), with_oracle(tmp_path, "return 2 * x + 1"), device="emulated")
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.DISK_FULL), v.reason
    assert v.stage("check").code is Reason.DISK_FULL and "TMPDIR" in v.reason


def test_a_disk_without_room_for_the_oracles_result_is_nobodys_fault(tmp_path):
    asked = with_oracle(tmp_path, "raise OSError(errno.ENOSPC, 'No space left on device')")
    v = judge(affine(), affine(), asked, device="emulated")
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.DISK_FULL), v.reason


def test_a_disk_that_runs_full_while_compiling_is_nobodys_fault(nothing_built, monkeypatch):
    class Usage:
        free = 0

    with monkeypatch.context() as patch:
        patch.setattr(building, "_read_result", lambda folder: None)
        patch.setattr(building.shutil, "disk_usage", lambda folder: Usage)
        v = verdict()
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.DISK_FULL)


@pytest.mark.parametrize(
    "there",
    ["#if 0\n__global__ void k(int* x) {}\n#endif\n", "namespace a { __global__ void k(int* x) {} }\n"],
    ids=["a condition", "a namespace"],
)
def test_a_kernel_that_stands_in_the_text_is_told_from_one_that_does_not(there: str) -> None:
    assert near_names(Program("cuda", there, "k"), "k").startswith(
        "; its text has one, which needs its namespace"
    )
    assert near_names(Program("cuda", there, "l"), "l") == "; it has k"
