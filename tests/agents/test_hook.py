"""The hook of coding agents: which edits pass, which are refused, and that a gated edit passes afterwards."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from git import Actor, Repo

from gate.reporting.verdicts import ACCEPTED, REJECTED, UNTIMED
from kernel_gate.options import GateOptions
from kernel_gate.verdict import Verdict
from kernel_lineage.agents.plugin import AGENTS
from kernel_lineage.agents.trust import trust
from kernel_lineage.cache_file import CACHE
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.cli.main import main
from kernel_lineage.learning.gated_edits import EditGate
from longer import first_now

REFUSED = 2
HALVED = ("twice(x[i])", "0.5f * x[i]")


def hook(top: Path, tool: str, **arguments: object) -> Result:
    event = "BeforeTool" if tool in ("replace", "write_file") else "PreToolUse"
    call = {"hook_event_name": event, "cwd": str(top), "tool_name": tool, "tool_input": arguments}
    return CliRunner().invoke(main, ["hook"], input=json.dumps(call))


def edit(top: Path, old: str, new: str, path: str = "kernels.cu") -> Result:
    return hook(top, "Edit", file_path=path, old_string=old, new_string=new)


def gated(top: Path, text: str, verdict: Verdict, path: str = "kernels.cu") -> list[str]:
    """Let the gate say so of an edit; the kernels that it changes."""
    gate = EditGate(top)
    with gate.changed(path, text.encode()) as (changed, _after):
        judged = list(gate.judged(changed, lambda *_: verdict, "emulated", GateOptions()))
    return [one.kernel for one, _needs in judged]


def changed(top: Path, *replacements: tuple[str, str]) -> str:
    text = (top / "kernels.cu").read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "    if (i < n) {", "    // the tail\n      if ( i < n )  {", id="whitespace and a comment"
        ),
        pytest.param("void run(", "void start(", id="host code that launches the same"),
        pytest.param("}\n\nvoid", "}\n\n#define UNUSED 3\n\nvoid", id="a macro that nothing uses"),
    ],
)
def test_an_edit_that_changes_no_kernel_passes(top, old, new):
    call = {"file_path": "kernels.cu", "old_string": old, "new_string": new, "replace_all": True}
    assert hook(top, "Edit", **call).exit_code == 0


TRITON = """\
import triton
import triton.language as tl


@triton.jit
def add(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(0, 2):
        total += tl.load(x + i, mask=i < n)
        total += 1.0
    tl.store(out + i, total, mask=i < n)


def run(x, out, n):
    add[(triton.cdiv(n, 128),)](x, out, n, BLOCK=128)
"""


def test_in_python_a_block_is_no_layout(top):
    (top / "add.py").write_text(TRITON)
    assert edit(top, "        total += 1.0", "\n        total += 1.0  # one", "add.py").exit_code == 0
    assert edit(top, "def add(", "def  add(", "add.py").exit_code == 0
    moved = edit(top, "        total += 1.0", "    total += 1.0", "add.py")
    assert moved.exit_code == REFUSED and "`add` (add.py:5)" in moved.stderr


def test_a_helper_of_another_module_is_part_of_the_kernel(top):
    jit = "@triton.jit\ndef {}(v):\n    return v + {}\n"
    package = top / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helpers.py").write_text(
        f"import triton\n\n\n{jit.format('one', 1)}\n\n{jit.format('two', 2)}"
    )
    text = TRITON.replace("import triton\n", "import triton\nfrom .helpers import one\n", 1)
    (package / "add.py").write_text(text.replace("total += 1.0", "total = one(total)"))
    (package / "apart.py").write_text(TRITON.replace("def add", "def apart").replace("add[", "apart["))
    refused = edit(top, "return v + 1", "return v + 3", "package/helpers.py")
    assert refused.exit_code == REFUSED
    assert "`add` (package/add.py" in refused.stderr and "apart" not in refused.stderr
    assert edit(top, "return v + 2", "return v + 4", "package/helpers.py").exit_code == 0


def test_an_edit_of_other_text_passes(top):
    assert edit(top, "# Notes", "# More notes", "notes.md").exit_code == 0
    assert hook(top, "write_file", file_path="new.py", content="print(1)\n").exit_code == 0


@pytest.mark.parametrize(
    ("old", "new", "path", "kernels"),
    [
        pytest.param(*HALVED, "kernels.cu", ["scale"], id="device code"),
        pytest.param(
            "scale<<<(n + 127) / 128, 128", "scale<<<(n + 63) / 64, 64", "kernels.cu", ["scale"], id="launch"
        ),
        pytest.param("2.0f * v", "v * 3.0f", "twice.cuh", ["scale"], id="a header that it includes"),
    ],
)
def test_an_ungated_edit_of_a_kernel_is_refused_with_the_command_that_gates_it(top, old, new, path, kernels):
    result = edit(top, old, new, path)
    assert result.exit_code == REFUSED
    assert all(f"`{kernel}`" in result.stderr for kernel in kernels) and "`shift`" not in result.stderr
    (command,) = [line.split() for line in result.stderr.splitlines() if line.startswith("  klineage gate ")]
    assert command[2] == str(top / path) and command[-1] == "--write"
    assert Path(command[4]).read_text() == (top / path).read_text().replace(old, new)


def test_an_edit_whose_old_text_is_not_there_once_is_refused(top):
    assert "several times" in edit(top, "if (i < n)", "if (i <= n)").stderr
    assert "is not in" in edit(top, "if (i < m)", "if (i <= n)").stderr


def test_an_edit_passes_once_the_gate_has_accepted_exactly_this_change(top):
    assert edit(top, *HALVED).exit_code == REFUSED
    assert gated(top, changed(top, HALVED), ACCEPTED.verdict) == ["scale"]
    assert edit(top, *HALVED).exit_code == 0
    # The same change in another form, with a comment: still what was gated.
    assert (
        hook(top, "Write", file_path="kernels.cu", content="// new\n" + changed(top, HALVED)).exit_code == 0
    )
    assert edit(top, "twice(x[i])", "0.25f * x[i]").exit_code == REFUSED
    both = changed(top, HALVED, ("x[i] + 1.0f", "x[i] + 2.0f"))
    refused = hook(top, "Write", file_path="kernels.cu", content=both)
    assert refused.exit_code == REFUSED and "`shift`" in refused.stderr and "`scale`" not in refused.stderr


@pytest.mark.parametrize("record", [REJECTED, UNTIMED], ids=["rejected", "right, not timed"])
def test_any_other_verdict_does_not_let_it_pass(top, record):
    gated(top, changed(top, HALVED), record.verdict)
    result = edit(top, *HALVED)
    assert result.exit_code == REFUSED
    assert f"{record.verdict.standing}: " in result.stderr
    assert ("klineage trust" in result.stderr) is (record is UNTIMED)


def test_an_accepted_verdict_with_a_condition_that_nothing_establishes_does_not_let_it_pass(top):
    stages = [
        stage.model_copy(update={"details": {**stage.details, "conditions": [{"expr": "n % 3 == 0"}]}})
        if stage.name == "check"
        else stage
        for stage in ACCEPTED.verdict.stages
    ]
    gated(top, changed(top, HALVED), ACCEPTED.verdict.model_copy(update={"stages": stages}))
    result = edit(top, *HALVED)
    assert result.exit_code == REFUSED and "only if n % 3 == 0" in result.stderr


def test_a_person_may_let_pass_what_is_right_and_was_not_timed(top):
    gated(top, changed(top, HALVED), UNTIMED.verdict)
    trust(top, "right")
    assert edit(top, *HALVED).exit_code == 0
    gated(top, changed(top, HALVED), REJECTED.verdict)
    assert edit(top, *HALVED).exit_code == REFUSED


def test_what_is_again_as_it_was_committed_passes(top):
    (top / "kernels.cu").write_text(changed(top, HALVED))
    assert edit(top, *reversed(HALVED)).exit_code == 0


def test_a_kernel_that_goes_and_comes_back_changed_is_refused(top):
    text = (top / "kernels.cu").read_text()
    start, end = text.index("__global__ void scale"), text.index("__global__ void shift")
    without = text[:start] + text[end:]
    assert hook(top, "Write", file_path="kernels.cu", content=without).exit_code == 0
    (top / "kernels.cu").write_text(without)
    result = hook(top, "Write", file_path="kernels.cu", content=text.replace(*HALVED))
    assert result.exit_code == REFUSED and "`scale`" in result.stderr
    assert hook(top, "Write", file_path="kernels.cu", content=text).exit_code == 0


def test_a_kernel_that_is_renamed_and_changed_is_refused(top):
    result = hook(top, "Write", file_path="kernels.cu", content=changed(top, HALVED, ("scale", "scaled")))
    assert result.exit_code == REFUSED and "`scaled`" in result.stderr


SPLIT = """__global__ void halve(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] *= 0.5f; }

__global__ void spread(float* y, const float* x, int n, int from) {
    for (int i = from + blockIdx.x * 8; i < min(n, from + (blockIdx.x + 1) * 8); ++i) y[i] = x[i];
}

void run("""


def test_a_kernel_that_its_host_function_launches_several_for_is_refused(top):
    text = (top / "kernels.cu").read_text()
    start, end = text.index("__global__ void scale"), text.index("__global__ void shift")
    launch = text[text.index("scale<<<") : text.index(";", text.index("scale<<<"))]
    two = "spread<<<1, 1>>>(y, x, n, 0); halve<<<1, 8>>>(y, n)"
    split = (text[:start] + text[end:]).replace(launch, two).replace("void run(", SPLIT, 1)
    result = hook(top, "Write", file_path="kernels.cu", content=split)
    assert result.exit_code == REFUSED and "`halve`" in result.stderr


def test_a_verdict_on_several_launches_is_on_all_of_them(top):
    text = (top / "kernels.cu").read_text()
    launch = text[text.index("scale<<<") : text.index(";", text.index("scale<<<"))]
    whole = changed(top, HALVED, ("void run(", SPLIT)).replace(launch, f"{launch}; halve<<<1, 8>>>(y, n)")
    assert gated(top, whole, ACCEPTED.verdict) == ["scale"]
    assert hook(top, "Write", file_path="kernels.cu", content=whole).exit_code == 0
    other = whole.replace("y[threadIdx.x] *= 0.5f", "y[threadIdx.x] *= 0.7f")
    assert hook(top, "Write", file_path="kernels.cu", content=other).exit_code == REFUSED


def test_how_kernels_are_judged_is_not_an_agents_to_edit(top):
    result = edit(top, "n = [200]", "n = [1]", ".klineage/workloads/scale.toml")
    assert result.exit_code == REFUSED and "draft_workload" in result.stderr


def test_a_verdict_that_this_users_gate_has_not_written_is_as_good_as_none(top, tmp_path):
    gated(top, changed(top, HALVED), ACCEPTED.verdict)
    (tmp_path / "state" / "kernel-lineage" / "verdict-key").write_bytes(b"k" * 32)
    assert edit(top, *HALVED).exit_code == REFUSED
    with sqlite3.connect(kept_in(top) / CACHE) as db:
        assert db.execute("SELECT count(*) FROM gated_edits").fetchone() == (1,)


@pytest.mark.parametrize(
    "call",
    [
        "no JSON",
        "{}",
        '{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Edit", "tool_input": {"file_path": "a.cu"}}',
        '{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Turn", "tool_input": {"path": "a.cu"}}',
    ],
)
def test_what_cannot_be_understood_is_refused(call):
    result = CliRunner().invoke(main, ["hook"], input=call)
    assert result.exit_code == REFUSED and result.stderr.startswith("Refused: ")


def test_what_takes_longer_than_agents_wait_is_refused(top, monkeypatch):
    from kernel_lineage.agents.hook import decide
    from kernel_lineage.cli.commands import hook as command

    monkeypatch.setattr(command, "SECONDS", 1)
    monkeypatch.setattr(decide, "refusal", lambda _edit: threading.Event().wait(20))
    result = edit(top, "void run(", "void start(")
    assert result.exit_code == REFUSED and "not within 1 s" in result.stderr


def test_an_agent_is_told_once_what_a_shell_has_changed(top):
    def after() -> str:
        call = {"hook_event_name": "PostToolUse", "cwd": str(top), "tool_name": "Bash", "tool_input": {}}
        result = CliRunner().invoke(main, ["hook"], input=json.dumps(call))
        assert result.exit_code == 0
        return result.stdout

    assert after() == ""
    (top / "kernels.cu").write_text(changed(top, HALVED))
    context = json.loads(after())["hookSpecificOutput"]["additionalContext"]
    assert "`scale` of kernels.cu" in context and "klineage gate --since HEAD" in context
    assert after() == ""
    (top / "kernels.cu").write_text(changed(top, ("x[i] + 1.0f", "x[i] + 2.0f")))
    assert "`shift`" in after()


def shell(agent: str, moment: str, call: dict, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command of a plugin's hook as the agent does."""
    settings = json.loads(AGENTS[agent]()["hooks/hooks.json"])["hooks"]
    command = settings[moment][0]["hooks"][0]["command"]
    return subprocess.run(
        ["/bin/sh", "-c", command], input=json.dumps(call), env={**os.environ, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    ("agent", "moment", "tool"),
    first_now([("claude", "PreToolUse", "Edit"), ("gemini", "BeforeTool", "replace")]),
)
def test_the_plugins_own_command_refuses_and_permits(top, agent, moment, tool):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    call = {
        "hook_event_name": moment, "cwd": str(top), "tool_name": tool,
        "tool_input": {"file_path": "kernels.cu", "old_string": HALVED[0], "new_string": HALVED[1]},
    }  # fmt: skip
    refused = shell(agent, moment, call, PATH=path)
    assert refused.returncode == REFUSED and "`scale`" in refused.stderr and refused.stdout == ""
    gated(top, changed(top, HALVED), ACCEPTED.verdict)
    assert shell(agent, moment, call, PATH=path).returncode == 0


def test_without_klineage_the_plugin_refuses_and_says_how_to_get_it(top, tmp_path):
    (tmp_path / "bin").mkdir()
    for program in ("sh", "echo"):
        (tmp_path / "bin" / program).symlink_to(shutil.which(program))
    refused = shell("claude", "PreToolUse", {}, PATH=str(tmp_path / "bin"))
    assert refused.returncode == REFUSED and "pip install 'kernel-lineage[agents]'" in refused.stderr


def test_a_commit_makes_a_gated_edit_the_new_start(top):
    gated(top, changed(top, HALVED), ACCEPTED.verdict)
    (top / "kernels.cu").write_text(changed(top, HALVED))
    who = Actor("A", "a@example.org")
    repository = Repo(top)
    repository.git.add(all=True)
    repository.index.commit("halved", author=who, committer=who)
    assert edit(top, *reversed(HALVED)).exit_code == REFUSED
