"""A program's own launch, beside its text: what looks at launches sees it, and what changes one changes no text."""

from __future__ import annotations

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.workload import parse_workload
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.rewrite.launch_site import launch_edits
from kernel_lineage.rewrite.program_edits import kernel_of, with_own_launch
from kernel_lineage.workloads.programs import with_launch

SCALE = """\
import triton
import triton.language as tl


@triton.jit
def scale(X, Y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + offs, 2 * tl.load(X + offs, mask=offs < n), mask=offs < n)
"""
LAUNCH = LaunchSpec(("ceil_div(N, 4096)",), constexpr={"BLOCK": "4096"}, num_warps=8)


def test_a_triton_program_shows_its_launch_as_a_site_would():
    program = Program("triton", SCALE, "scale", LAUNCH)
    (launch,) = with_own_launch(kernel_of(program), program).launches
    assert launch.grid == ("ceil_div(N, 4096)",)
    assert launch.options == {"BLOCK": "4096", "num_warps": "8"}
    assert launch.arguments == ("X", "Y", "n", "4096")


def test_what_starts_from_a_launch_finds_it():
    program = Program("triton", SCALE, "scale", LAUNCH)
    kernel = with_own_launch(kernel_of(program), program)
    patterns = {anchor.pattern for anchor in anchors_of(kernel)}
    assert {"triton_launch_options", "triton_untuned_block"} <= patterns
    assert launch_edits(kernel, kernel.launches[0], {"num_warps": "4"}) == ()


def test_a_changed_grid_may_speak_of_the_old_one():
    text = (
        'kernel = "scale"\nlanguage = "triton"\n[dims]\nN = [8]\n[launch]\ngrid = ["N"]\n'
        '[[args]]\nname = "x"\nkind = "output"\ndtype = "float32"\nshape = ["N"]\n'
    )
    changed = with_launch(LAUNCH, parse_workload(text), {"grid": '["min(grid.x, 64)"]', "ROWS": "grid.x"})
    assert changed is not None
    assert changed.grid == ("min((ceil_div(N, 4096)), 64)",)
    assert changed.constexpr == {"BLOCK": "4096", "ROWS": "(ceil_div(N, 4096))"}
