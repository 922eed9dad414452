"""What the assists make of their own examples compiles, and the gate's check finds no difference and no fault in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import Workload
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.workloads.device_code import device_code
from kernel_lineage.workloads.following.launch_site import followed_launch
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.programs import program_from_file, with_launch
from kernel_texts import kernel_in_text
from longer import first_now
from rewrite.assists.examples_read import APPLICATIONS, Application, applications_of
from rewrite.assists.workloads import WORKLOADS

PATIENT = GateOptions(check_seconds=3600.0)
"""A busy machine is no reason to leave a shape out."""

CASES = [
    pytest.param(e, w, id=f"{e.assist.id}-{e.kernel}")
    for e in APPLICATIONS
    for w in WORKLOADS.get(e.kernel, ())
]


def programs(example: Application, workload: Workload) -> tuple[Program, Program]:
    """Before and after; of a workload for a host function, all that the function launches."""
    texts, kernel = (example.before, example.after), example.kernel
    if workload.kernel != kernel:
        path = Path("example.py" if example.language is Language.TRITON else "example.cu")
        before, after = (
            program_from_file(path, workload.kernel, workload, data=text.encode(), root=Path())
            for text in texts
        )
        return before, after
    launch = own_launch(example, workload)
    return program(example.language, texts[0], kernel), program(example.language, texts[1], kernel, launch)


def program(language: Language, source: str, entry: str, launch: LaunchSpec | None = None) -> Program:
    kernel = kernel_in_text(source, entry, language)
    head = "".join(
        f"{line}\n"
        for line in source.splitlines()
        if line.startswith(("#define", "#include <cuda_", "import"))
    )
    types = next((site.template_arguments for site in kernel.launches), ())
    if any(word in source for word in ("__device__", "struct ", "using ")):
        text, _ = device_code(read(source.encode(), language), (entry,), Path("example.cu"), Path(), types)
        return Program(language.value, text, entry, launch, template_arguments=types)
    return Program(language.value, head + kernel.text, entry, launch, template_arguments=types)


def own_launch(example: Application, workload: Workload) -> LaunchSpec | None:
    """The launch that a candidate brings: new constants of Triton, another block at the launch in a CUDA C++ file."""
    kernel = read(example.before.encode(), example.language).kernel(example.kernel)
    if kernel is None:
        return None
    if example.language is not Language.TRITON:
        after = read(example.after.encode(), example.language).kernel(example.kernel)
        order = [a.name for a in workload.args]
        if after is None:
            return None
        old = followed_launch(kernel, unit_of(example.before), workload, order)
        new = followed_launch(after, unit_of(example.after), workload, order, old)
        if new is None or new.launch is None:
            return None
        same = old is not None and old.launch is not None and _extents(old.launch) == _extents(new.launch)
        return None if same else new.launch
    assist = example.assist
    made = [assist.rewrite(kernel, a) for a in anchors_of(kernel) if a.pattern == assist.pattern]
    return next((with_launch(None, workload, m.launch) for m in made if isinstance(m, Candidate)), None)


def _extents(launch: LaunchSpec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return launch.grid, launch.block


@pytest.mark.parametrize(("example", "workload"), CASES)
@pytest.mark.sets
def test_the_gate_finds_nothing_wrong(example: Application, workload: Workload) -> None:
    verdict = judge(*programs(example, workload), workload, device="emulated", options=PATIENT)
    for name in ("build", "check"):
        stage = verdict.stage(name)
        assert stage is not None
        assert stage.status is StageStatus.PASS, stage.reason


@pytest.mark.parametrize("kernel", first_now(["scale", "gelu"]))
def test_a_vectorised_kernel_is_right_on_a_quarter_of_the_grid(kernel: str) -> None:
    example = next(e for e in applications_of("vectorise_row_access") if e.kernel == kernel)
    (load,) = WORKLOADS[kernel]
    quarter = LaunchSpec(("ceil_div(n, 1024)",), ("256",))
    verdict = judge(
        program(example.language, example.before, kernel),
        program(example.language, example.after, kernel, quarter),
        load,
        device="emulated",
        options=PATIENT,
    )
    stage = verdict.stage("check")
    assert stage is not None
    assert stage.status is StageStatus.PASS, stage.reason


@pytest.mark.parametrize("kernel", ["shift", "clamp_columns", "fill_planes"])
def test_a_grid_stride_loop_is_right_on_one_block(kernel: str) -> None:
    example = next(e for e in applications_of("loop_over_grid") if e.kernel == kernel)
    (load,) = WORKLOADS[kernel]
    few = LaunchSpec(("1", *load.launch.grid[1:]), load.launch.block)
    verdict = judge(
        program(example.language, example.before, kernel),
        program(example.language, example.after, kernel, few),
        load,
        device="emulated",
        options=PATIENT,
    )
    stage = verdict.stage("check")
    assert stage is not None
    assert stage.status is StageStatus.PASS, stage.reason


@pytest.mark.parametrize("kernel", ["softmax_statistics", "softmax_rows"])
def test_one_pass_of_a_softmax_gives_what_two_gave_for_masked_rows(kernel: str) -> None:
    example = next(e for e in applications_of("fuse_softmax_passes") if e.kernel == kernel)
    (load,) = WORKLOADS[kernel]
    masked = tuple(a.model_copy(update={"values": "masked"}) if a.name == "x" else a for a in load.args)
    verdict = judge(
        program(example.language, example.before, kernel),
        program(example.language, example.after, kernel),
        load.model_copy(update={"args": masked}),
        device="emulated",
        options=PATIENT,
    )
    stage = verdict.stage("check")
    assert stage is not None
    assert stage.status is StageStatus.PASS, stage.reason


def test_a_single_tf32_product_is_not_what_an_exact_one_was() -> None:
    """Three pieces pass where one does not: that is why the assist proposes three."""
    example = applications_of("multiply_in_pieces")[0]
    (load,) = WORKLOADS[example.kernel]
    before = program(example.language, example.before, example.kernel)
    single = program(example.language, example.after.replace("tf32x3", "tf32"), example.kernel)
    one = PATIENT.model_copy(update={"case": {"R": 1, "C": 3, "K": 16}})
    stage = judge(before, single, load, device="emulated", options=one).stage("check")
    assert stage is not None
    assert stage.status is StageStatus.FAIL
    assert "out[0, " in stage.reason


@pytest.mark.parametrize(
    ("assist", "kernel", "right", "wrong"),
    [
        ("multiply_by_dot", "gated_tiles", "tl.where(k[None, :] < K, x, 0), y", "x, y + 1"),
        ("multiply_by_dot", "gated_tiles", "BLOCK_K * 32", "32"),
        ("multiply_by_dot", "scores", "rows, tl.trans(columns)", "columns, tl.trans(rows)"),
        ("multiply_by_dot", "linear", "first + tl.arange(0, BLOCK_K)", "first + 1 + tl.arange(0, BLOCK_K)"),
        ("take_several_programs", "gated_unit", "    inside_y = inside_y & (c < columns)", "    "),
        ("take_several_programs", "kept_positive", "    inside = inside & (v > 0)", "    "),
        ("take_several_programs", "product_rows", "(cols < N) & inside_x", "cols < N"),
    ],
)
@pytest.mark.sets
def test_a_result_with_one_mistake_is_rejected(assist: str, kernel: str, right: str, wrong: str) -> None:
    (example,) = (e for e in applications_of(assist) if e.kernel == kernel)
    (load,) = WORKLOADS[kernel]
    assert right in example.after
    before = program(example.language, example.before, kernel)
    after = program(example.language, example.after.replace(right, wrong), kernel, own_launch(example, load))
    stage = judge(before, after, load, device="emulated", options=PATIENT).stage("check")
    assert stage is not None
    assert stage.status is StageStatus.FAIL


def test_every_assist_is_gated() -> None:
    gated = {e.assist.id for e in APPLICATIONS if e.kernel in WORKLOADS}
    assert gated == set(all_assists())
