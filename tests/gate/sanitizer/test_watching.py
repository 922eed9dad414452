"""Programs under the tools: with a stand-in that answers as compute-sanitizer does, and with none."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from executable_files import write_executable
from gate.programs import affine, workload
from gate.sanitizer import samples
from kernel_gate.build.compile import compile_program
from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.processes.group import kill_group
from kernel_gate.sanitizer import tool
from kernel_gate.sanitizer.opinions import Tools
from kernel_gate.sanitizer.recording import CONTENTS, PLAN
from kernel_gate.sanitizer.tool import SanitizerMissing, SpareTools
from kernel_gate.sanitizer.watching import Watching

CASES = [Case({"N": 1, "C": 32}, 1), Case({"N": 3, "C": 70}, 2)]


@pytest.fixture(scope="module")
def images():
    return compile_program(affine(), "sm_90", want_cubin=True)


STAND_IN = """#!/usr/bin/env python3
import json, os, pathlib, shutil, sys, time
{end}
save, out = sys.argv[sys.argv.index("--save") + 1], pathlib.Path(sys.argv[-2])
print("========= COMPUTE-SANITIZER", flush=True)
while True:
    while not (out / "asked.txt").exists():
        time.sleep(0.01)
    asked = (out / "asked.txt").read_text()
    (out / "asked.txt").unlink()
    if not asked:
        break
    buffers = json.loads((pathlib.Path(asked) / "plan.json").read_text())["buffers"]
    addresses = [0x10000 * (i + 1) for i, _ in enumerate(buffers)]
    if {says!r}:
        print("=========", {says!r}, flush=True)
    done = {{"addresses": addresses, "launches": 2, "failed": {failed!r}}}
    (out / "done.part").write_text(json.dumps(done))
    (out / "done.part").rename(out / "done.json")
shutil.copy({answer!r}, save)
"""
"""A compute-sanitizer that replays nothing: buffers lie 0x10000 apart, and the records are those of a file."""


def stand_in(folder: Path, *records: str, failed: str = "", end: str = "") -> Path:
    """One that finds these records in each recording, and says so."""
    answer = folder / "answer.xml"
    answer.write_bytes(samples.document(*records))
    tool = folder / "compute-sanitizer"
    says = "found something" if records else ""
    write_executable(tool, STAND_IN.format(end=end, says=says, failed=failed, answer=str(answer)))
    return tool


@pytest.fixture
def watch(monkeypatch, images):
    """Case 1 and 2 of the affine program, from line 11 of its file, under a stand-in."""

    def watched(stand_in: Path, tools=("memcheck",), seconds: float = 30.0, language="cuda"):
        monkeypatch.setattr(tool, "find_tool", lambda: stand_in)
        program = Built(affine(first_line=11), images)
        with SpareTools() as spares, Watching(spares, program, workload(), CASES, tools) as watching:
            watching._program = replace(watching._program, language=language)
            return watching.answers(seconds)

    return watched


def test_a_recording_holds_launches_inputs_and_nothing_in_outputs(images):
    with Watching(SpareTools(), Built(affine(), images), workload(), CASES, ()) as watching:
        plan = json.loads((Path(watching._folder.name) / PLAN).read_text())
        contents = np.fromfile(Path(watching._folder.name) / CONTENTS, np.float32)
    assert plan["buffers"] == [128, 128, 840, 840]
    assert [("write" if "write" in s else "launch") for s in plan["steps"]] == ["write", "launch"] * 2
    assert [s["write"] for s in plan["steps"] if "write" in s] == [1, 3]
    launch = plan["steps"][3]
    assert (launch["grid"], launch["block"]) == ([4, 1, 1], [64, 1, 1])
    assert [a.get("buffer") for a in launch["arguments"]] == [2, 3, None]
    assert len(contents) == 32 + 210


def test_a_finding_is_in_the_users_lines_with_buffer_element_and_case(tmp_path, watch):
    beyond = samples.OUT_OF_BOUNDS.replace("0x7f5ece802fa0", hex(0x40000 + 840))
    (answer,) = watch(stand_in(tmp_path, beyond, samples.API, failed="lost"))
    (finding,) = answer.found
    assert answer.unusable == ""
    assert (finding.case, finding.fault.kind, finding.fault.line) == (1, "out_of_bounds", 13)
    assert (finding.fault.buffer, finding.fault.element) == ("x", 210)
    assert finding.fault.message == (
        "memcheck: global read of 4 bytes outside its allocation at element 210 of x, which has 210, "
        "by thread (39, 0, 0) of block (15, 0, 0)"
    )


def test_a_finding_in_a_header_names_the_header(tmp_path, watch):
    inside = samples.BARRIER.replace("/src/program.cu", "/usr/include/cooperative_groups.h")
    (answer,) = watch(stand_in(tmp_path, inside), ["synccheck"])
    assert answer.found[0].fault.line is None
    assert "in cooperative_groups.h:4" in answer.found[0].fault.message


def test_a_race_names_both_lines_and_no_case(tmp_path, watch):
    (answer,) = watch(stand_in(tmp_path, samples.RACE), ["racecheck"])
    assert answer.found[0].case is None
    assert answer.found[0].fault.message.endswith("of shared memory without order and line 14")


@pytest.mark.parametrize(
    ("race", "language", "kinds"),
    [
        (samples.RACE_OF_A_STORE, "triton", []),
        (samples.RACE_OF_A_STORE, "cuda", ["race"]),
        (samples.RACE_OF_A_STORE.replace("0xc0", "0xd0", 1), "triton", ["race"]),
        (samples.RACE, "triton", ["race"]),
    ],
)
def test_copies_of_an_element_that_triton_stores_are_no_race(tmp_path, watch, race, language, kinds):
    (answer,) = watch(stand_in(tmp_path, race), ["racecheck"], language=language)
    assert [f.fault.kind for f in answer.found] == kinds


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("time.sleep(60)", "racecheck did not end within"),
        ("sys.exit('Error: No attachable process found')", "No attachable process found"),
        ("sys.exit(1)", "racecheck gave nothing"),
    ],
)
def test_a_tool_that_cannot_answer_gives_no_clean_bill(tmp_path, watch, end, message):
    (answer,) = watch(stand_in(tmp_path, end=end), ["racecheck"], seconds=2.0)
    assert message in answer.unusable


def test_a_launch_that_fails_without_a_record_is_no_clean_bill(tmp_path, watch):
    (answer,) = watch(stand_in(tmp_path, failed="out of memory"))
    assert answer.unusable == "memcheck: out of memory"


def test_without_the_tool_its_absence_is_said(monkeypatch, images):
    def nowhere() -> Path:
        raise SanitizerMissing("compute-sanitizer was not found; install it")

    monkeypatch.setattr(tool, "find_tool", nowhere)
    with Tools(Built(affine(), images), workload(), CASES, SpareTools()) as tools:
        opinion = tools.opinion(1.0)
    assert opinion.missing == "compute-sanitizer was not found; install it"
    assert "unavailable" in opinion.summary() and not opinion.suspicions


def test_nothing_is_left_behind(tmp_path, monkeypatch, images):
    sleeping = stand_in(tmp_path, end="time.sleep(60)")
    monkeypatch.setattr(tool, "find_tool", lambda: sleeping)
    with SpareTools() as spares:
        spares.prepare()
        waiting = list(spares._waiting.values())
        with Watching(spares, Built(affine(), images), workload(), CASES, ["memcheck"]) as watching:
            place, running = Path(watching._folder.name), watching._running
        assert running == waiting[:1]
    assert not place.exists() and not any(w.out.exists() for w in waiting)
    assert all(w.process.poll() is not None for w in waiting)


def test_a_tool_that_found_nothing_watches_the_next_recording_and_one_that_did_is_ended(
    tmp_path, monkeypatch, images
):
    program = Built(affine(), images)
    monkeypatch.setattr(tool, "find_tool", lambda: stand_in(tmp_path))
    with SpareTools() as spares:
        used = []
        for _ in range(2):
            with Watching(spares, program, workload(), CASES, ["memcheck"]) as watching:
                (answer,) = watching.answers(30.0)
                assert (answer.unusable, answer.found, answer.launches) == ("", (), 2)
                used.append(watching._running[0].process)
        assert used[0] is used[1]
        assert used[0].poll() is None
    assert used[0].poll() is not None

    monkeypatch.setattr(tool, "find_tool", lambda: stand_in(tmp_path, samples.OUT_OF_BOUNDS))
    with SpareTools() as spares, Watching(spares, program, workload(), CASES, ["memcheck"]) as watching:
        (answer,) = watching.answers(30.0)
        assert len(answer.found) == 1
        assert watching._running[0].process.poll() is not None


@pytest.mark.long
def test_a_spare_tool_that_has_died_is_replaced(tmp_path, monkeypatch, images):
    answering = stand_in(tmp_path)
    monkeypatch.setattr(tool, "find_tool", lambda: answering)
    with SpareTools() as spares:
        spares.prepare()
        for one in spares._waiting.values():
            kill_group(one.process)
        with Watching(spares, Built(affine(), images), workload(), CASES) as watching:
            assert [a.unusable for a in watching.answers(30.0)] == [""] * 4


def test_a_tool_with_nothing_to_watch_is_not_started(tmp_path, monkeypatch, images):
    never = stand_in(tmp_path, end="sys.exit('started')")
    monkeypatch.setattr(tool, "find_tool", lambda: never)
    with (
        SpareTools() as spares,
        Tools(Built(affine(), images), workload(), CASES, spares, ["racecheck"]) as tools,
    ):
        opinion = tools.opinion(5.0)
    assert (opinion.missing, opinion.suspicions) == ("", ())
    assert opinion.more["tools"]["racecheck"].startswith("not started: no kernel has shared memory")
