"""Mining as a whole: a history in, lineages out."""

from pathlib import Path

from history.repositories import NAIVE, Step, add_commit, make_repository
from kernel_lineage.history.mine import mine
from kernel_lineage.history.model import Intent

EARLY = NAIVE.replace("    if (i < n) {", "    if (i >= n) { return; }\n    {")


def test_an_edit_is_a_transition_from_the_version_before(tmp_path: Path):
    first, second = make_repository(
        tmp_path, [Step("add scale", {"a.cu": NAIVE}), Step("leave early", {"a.cu": EARLY})]
    )
    (lineage,) = mine(tmp_path).lineages
    assert lineage.kernel == "scale_kernel1"
    assert [v.commit for v in lineage.versions] == [first, second]
    (transition,) = lineage.transitions
    assert (transition.before, transition.after) == tuple(v.id for v in lineage.versions)


def test_a_later_commit_continues_where_the_last_run_stopped(tmp_path: Path):
    make_repository(tmp_path, [Step("add scale", {"a.cu": NAIVE})])
    before = mine(tmp_path)
    add_commit(tmp_path, "fix: leave early", {"a.cu": EARLY})
    after = mine(tmp_path)
    assert after == mine(tmp_path, use_cache=False)
    assert after.lineages[0].id == before.lineages[0].id
    assert after.lineages[0].transitions[0].intent is Intent.FIX
