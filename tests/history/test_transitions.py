"""What transitions mean: intent, compound, what they answer, what history says against them."""

from pathlib import Path

import pytest

from history.repositories import Step, add_commit, make_repository
from history.test_lineages import KERNEL, WARP
from kernel_lineage.history.mine import mine
from kernel_lineage.history.model import Intent, Transition, TransitionKind

NAIVE = KERNEL.replace("row_sum", "sum")
FAST = WARP.format(name="sum")
BIAS = NAIVE.replace("int C)", "int C, float bias)").replace("= total;", "= total + bias;")
UNROLLED = NAIVE.replace(
    "    float total",
    "    float most = 0.0f;\n#pragma unroll 4\n    for (int k = 0; k < 4; ++k) { most += k; }\n    float total",
)
IN_A_HELPER = """
__device__ float row_total(const float* inp, int row, int C) {
        float total = 0.0f;
        for (int c = 0; c < C; c++) {
            total += inp[row * C + c];
        }
        return total;
}
__global__ void sum(float* out, const float* inp, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        out[row] = row_total(inp, row, C);
    }
}
"""
LAUNCHED = """
void run(float* out, const float* inp, int N, int C, int device) {
SETUP    sum<<<N / 256, 256>>>(out, inp, N, C);
}
"""
CHOOSES = """    int shared = 0, regs = 0, blocks = 0;
    if (device < 0) {
        device = current();
    }
    query_shared(&shared, device);
    query_registers(&regs, device);
    query_blocks(&blocks, device);
    if (blocks * regs < shared) {
        use_largest_carveout(device);
    }
    report(device, shared);
    remember(device, regs);
"""
IN_A_MACRO = NAIVE.replace("total += inp[row * C + c];", "ADD(inp[row * C + c])")
READ_ONLY = NAIVE.replace("inp[row * C + c]", "__ldg(&inp[row * C + c])")
FAST_BIAS = READ_ONLY.replace("int C)", "int C, float bias)")
SCALED = NAIVE.replace("= total;", "= by_row(total);")
WRONG = FAST.replace("c < C", "c < C - 1")


def transitions(folder: Path, *steps: tuple[str, str]) -> list[Transition]:
    make_repository(folder, [Step(message, {"sum.cu": text}) for message, text in steps])
    (lineage,) = mine(folder, use_cache=False).lineages
    return list(lineage.transitions)


@pytest.mark.parametrize(
    ("message", "before", "after", "intent"),
    [
        ("wip", NAIVE, FAST, Intent.OPTIMISATION),
        ("cleanup", NAIVE, FAST, Intent.OPTIMISATION),
        ("3% faster", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.OPTIMISATION),
        ("faster!", NAIVE, "// one thread per row\n" + NAIVE.replace("    ", "\t"), Intent.REFACTOR),
        ("faster!", NAIVE, NAIVE.replace("total", "acc"), Intent.REFACTOR),
        ("fix the const-ness", NAIVE, NAIVE.replace("float total", "const float total"), Intent.REFACTOR),
        ("wip", NAIVE, NAIVE.replace("row * C + c", "(size_t)row * C + c"), Intent.FIX),
        ("fix wrong result for odd C", WRONG, FAST, Intent.FIX),
        ("perf: less work", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.OPTIMISATION),
        (
            "bias",
            NAIVE,
            NAIVE.replace("int C)", "int C, float bias)").replace("= total;", "= total + bias;"),
            Intent.FEATURE,
        ),
        ("wip", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.UNKNOWN),
        ("a flag, and the missing cast", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.FIX),
        ("improve precision", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.FIX),
        ("K3: less index math", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.OPTIMISATION),
        ("as `fix_rows` expects", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.UNKNOWN),
        ("fixbug for odd C", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.FIX),
        ("reduce index bookkeeping overhead", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.OPTIMISATION),
        ("avoid a recomputation", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.OPTIMISATION),
        ("avoid a NaN in rows of zeros", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.FIX),
        ("Add double buffering and fix a race", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.FIX),
        ("Add double buffering", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.OPTIMISATION),
        ("Implement masks", NAIVE, UNROLLED, Intent.FEATURE),
        ("Add pre-commit hooks", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.REFACTOR),
        (
            "faster!",
            "#define ADD(x) { total += x; }\n" + IN_A_MACRO,
            "#define ADD(x)   \\\n  {              \\\n    total += x;  \\\n  }\n" + IN_A_MACRO,
            Intent.REFACTOR,
        ),
        (
            "split files for faster template compilation",
            NAIVE,
            NAIVE.replace("c++", "c += 1"),
            Intent.REFACTOR,
        ),
        ("rename, to cut the build time", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.REFACTOR),
        ("Improve const correctness of parameters", NAIVE, NAIVE.replace("c++", "c += 1"), Intent.REFACTOR),
        (
            "wip",
            NAIVE,
            NAIVE.replace("float total", "__syncthreads();\n    float total"),
            Intent.FIX,
        ),
        ("wip", NAIVE, IN_A_HELPER, Intent.REFACTOR),
        # What comes as a parameter is asked for, whatever makes it fast.
        ("Add a bias", NAIVE, FAST_BIAS, Intent.FEATURE),
        ("wip", NAIVE, FAST_BIAS, Intent.OPTIMISATION),
        # Another name in one line may be another function; in many lines it is the same thing.
        ("Fix what rows are scaled by", SCALED, SCALED.replace("by_row", "by_rank"), Intent.FIX),
        ("wip", SCALED, SCALED.replace("by_row", "by_rank"), Intent.REFACTOR),
        ("Fix names", NAIVE, NAIVE.replace("total", "acc"), Intent.REFACTOR),
        # A launcher that does much more does what it did not; one that says less is not told.
        (
            "wip",
            NAIVE + LAUNCHED.replace("SETUP", ""),
            NAIVE + LAUNCHED.replace("SETUP", CHOOSES),
            Intent.FEATURE,
        ),
        (
            "wip",
            NAIVE + LAUNCHED.replace("SETUP", CHOOSES),
            NAIVE + LAUNCHED.replace("SETUP", ""),
            Intent.UNKNOWN,
        ),
    ],
)
def test_intent_is_read_from_the_diff_first_and_the_message_second(
    tmp_path: Path, message: str, before: str, after: str, intent: Intent
):
    (transition,) = transitions(tmp_path, ("begin", before), (message, after))
    assert transition.intent is intent, transition.because
    assert transition.because


def test_mechanisms_come_and_go(tmp_path: Path):
    there, back = transitions(tmp_path, ("begin", NAIVE), ("warps", FAST), ("simpler again", NAIVE))
    assert "warp_shuffle" in there.added
    assert "warp_shuffle" in back.removed


def test_mechanisms_of_several_directions_are_a_compound_change(tmp_path: Path):
    both = FAST.replace("const float*", "const float* __restrict__").replace(
        "float* out", "float* __restrict__ out"
    )
    (compound,) = transitions(tmp_path, ("begin", NAIVE), ("both", both))
    assert compound.compound


def test_a_fix_answers_the_transition_that_brought_its_lines(tmp_path: Path):
    warps, comment, fix = transitions(
        tmp_path,
        ("begin", NAIVE),
        ("a warp per row", WRONG),
        ("comment", WRONG.replace("{\n", "{ // sums rows\n", 1)),
        ("fix: the last column was left out", FAST.replace("{\n", "{ // sums rows\n", 1)),
    )
    assert fix.answers == warps.id
    assert [(r.kind, r.transition) for r in warps.risk] == [("bug", fix.id)]
    assert comment.risk == ()


def test_a_fix_of_lines_that_a_variant_took_over_answers_the_variant(tmp_path: Path):
    first, second = (WARP.format(name=f"sum_kernel{n}") for n in (1, 2))
    blocks = second.replace("blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32", "blockIdx.x")
    fixed = blocks.replace("c += 32", "c += blockDim.x")
    variant, fix = transitions(
        tmp_path, ("begin", first), ("a block per row", first + blocks), ("fix loop bounds", first + fixed)
    )
    assert variant.kind is TransitionKind.VARIANT
    assert fix.answers == variant.id


def test_going_back_exactly_is_a_revert_whatever_the_message_says(tmp_path: Path):
    there, back = transitions(tmp_path, ("begin", NAIVE), ("warps", FAST), ("hm", NAIVE))
    assert (back.kind, back.intent, back.answers) == (TransitionKind.REVERT, Intent.REVERT, there.id)
    assert [r.kind for r in there.risk] == ["revert"]


def test_a_launcher_as_it_was_is_no_revert_unless_the_message_says_so(tmp_path: Path):
    launch = "void run(float* o, const float* x, int N, int C) { sum<<<N, 64>>>(o, x, N, C); }\n"
    wider = launch.replace("64", "128")
    there, tuned, again = transitions(
        tmp_path,
        ("begin", NAIVE + launch),
        ("wider", NAIVE + wider),
        ("run elsewhere", NAIVE + launch),
        ("back to wider blocks", NAIVE + wider),
    )
    assert [t.intent is Intent.REVERT for t in (there, tuned, again)] == [False, False, True]


def test_a_copy_that_is_hardly_changed_is_no_feature(tmp_path: Path):
    copy = NAIVE.replace("c++", "c += 1")
    make_repository(
        tmp_path,
        [Step("begin", {"sum.cu": NAIVE}), Step("add a second file", {"sum.cu": NAIVE, "other.cu": copy})],
    )
    (lineage,) = mine(tmp_path, use_cache=False).lineages
    assert [t.intent for t in lineage.transitions] == [Intent.REFACTOR]


def test_a_revert_that_names_its_commit_answers_that_one(tmp_path: Path):
    ids = make_repository(tmp_path, [Step("begin", {"sum.cu": NAIVE}), Step("warps", {"sum.cu": FAST})])
    message = f'Revert "warps"\n\nThis reverts commit {ids[1]}. It was slower on small inputs.'
    add_commit(tmp_path, message, {"sum.cu": NAIVE.replace("c++", "++c")})
    (lineage,) = mine(tmp_path, use_cache=False).lineages
    there, back = lineage.transitions
    assert back.answers == there.id
    assert [r.kind for r in there.risk] == ["revert", "slower"]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("a warp per row, slower on my card", "slower"),
        ("a warp per row. makes no difference", "no_difference"),
        ("a warp per row. bad idea if C is small", "warning"),
        ("a warp per row, 2x faster", None),
        ("a warp per row, no regression seen", None),
        ("a warp per row, the old kernel was slower", None),
    ],
)
def test_what_a_message_says_against_its_own_change_is_a_risk_of_it(
    tmp_path: Path, message: str, kind: str | None
):
    (transition,) = transitions(tmp_path, ("begin", NAIVE), (message, FAST))
    assert [r.kind for r in transition.risk] == ([kind] if kind else [])


def test_what_a_new_comment_says_is_a_risk(tmp_path: Path):
    (transition,) = transitions(tmp_path, ("begin", NAIVE), ("warps", "// bad idea if C is small\n" + FAST))
    assert [(r.kind, r.message) for r in transition.risk] == [("warning", "bad idea if C is small")]


def test_a_kernel_that_gets_its_old_name_and_body_back_is_reverted(tmp_path: Path):
    old, new = NAIVE.replace("sum(", "sum_kernel3("), FAST.replace("sum(", "sum_kernel5(")
    there, back = transitions(tmp_path, ("begin", old), ("the faster kernel 5", new), ("swap 5 for 3", old))
    assert there.intent is Intent.OPTIMISATION
    assert back.intent is Intent.REVERT and back.answers == there.id
