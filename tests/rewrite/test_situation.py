"""Facts of a situation: what a workload states, what a device is, and why something is not known."""

from __future__ import annotations

from pathlib import Path

from kernel_gate.workload import parse_workload
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.situation import (
    facts_for,
    situation_of,
    toolchain_facts,
    workload_facts,
)
from kernel_lineage.skills.conditions.evaluate import judge
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.workloads.first_device import described_device
from kernel_lineage.workloads.saved import workloads_in
from rewrite.conftest import SCALE

ROWS = """\
kernel = "rows"
language = "cuda"
[dims]
N = [1, 4]
C = [768, 1024, 770]
[[profile_dims]]
N = 64
C = 4096
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
align = 16
[[args]]
name = "x"
kind = "input"
dtype = "bfloat16"
shape = ["N", "C"]
[[args]]
name = "cols"
kind = "scalar"
dtype = "int32"
value = "C"
[launch]
grid = ["N"]
block = ["min(C, 256)", 2]
"""


def rows() -> Facts:
    return workload_facts(parse_workload(ROWS), "workloads/rows.toml")


def kernel() -> Kernel:
    (only,) = read(SCALE.encode(), Language.CUDA).kernels
    return only


def test_dimensions_and_scalars_take_every_value_of_the_workload() -> None:
    fact = rows().get("cols")
    assert fact is not None
    assert fact.values == (768, 1024, 770, 4096)
    assert fact.evidence == "cols is 768, 1024, 770 or 4096 in workloads/rows.toml"


def test_a_condition_fails_on_the_one_value_that_breaks_it() -> None:
    judged = judge("cols % 4 == 0", rows())
    assert (judged.truth, judged.counterexample) == (Truth.FAILS, "cols = 770")


def test_types_layout_alignment_launch_and_separate_buffers() -> None:
    values = {name: fact.values for name, fact in rows().known.items()}
    assert values["dtype(x)"] == ("bfloat16",)
    assert values["align(out)"] == (16,)
    assert values["contiguous(x)"] == (True,)
    assert values["noalias(out, x)"] == (True,)
    assert values["stride(x, 1)"] == (1,)
    assert values["stride(x, 0)"] == (768, 1024, 770, 4096)
    assert 64 * 4096 in values["elements(x)"]
    assert values["launch.block.x"] == (256,)
    assert values["launch.block.y"] == (2,)
    assert values["launch.grid.x"] == (1, 4, 64)


def test_an_alignment_that_nobody_promises_is_not_known() -> None:
    assert rows().get("align(x)") is None
    assert judge("align(x) >= 16", rows()).truth is Truth.UNKNOWN


def test_the_workload_is_found_by_the_kernels_name(repository: Path) -> None:
    path = repository / "src" / "scale.cu"
    facts = facts_for(kernel(), path, device="emulated")
    fact = facts.get("n")
    assert fact is not None
    assert fact.evidence == "n is 64, 4096 or 1048576 in .klineage/workloads/scale.toml"


def test_of_two_workloads_the_one_for_this_file_is_taken(repository: Path) -> None:
    folder = repository / ".klineage" / "workloads"
    (folder / "a.toml").write_text((folder / "scale.toml").read_text().replace("scale.cu", "other.cu"))
    workload = workloads_in(repository).of("scale", str(repository / "src" / "scale.cu"))
    assert workload is not None
    assert workload.path.name == "scale.toml"


def test_a_broken_workload_is_a_note_of_its_own_kernel_and_hides_nothing(repository: Path) -> None:
    folder = repository / ".klineage" / "workloads"
    (folder / "scale@other.toml").write_text("kernel = ")
    (folder / "softmax.toml").write_bytes(b"\xff\xfe\x00")
    situation = situation_of(kernel(), repository / "src" / "scale.cu", device="emulated")
    assert situation.workload is not None
    assert any("scale@other.toml is not valid TOML" in note for note in situation.notes)
    assert not any("softmax.toml" in note for note in situation.notes)


def test_without_a_workload_the_note_says_where_one_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "scale.cu").write_text(SCALE)
    situation = situation_of(kernel(), tmp_path / "scale.cu", device="emulated")
    assert situation.workload is None
    assert "no workload" in situation.notes[0]
    assert not [name for name in situation.facts if name.startswith("device.")]


def test_a_device_is_described_by_what_its_driver_tells() -> None:
    facts = described_device("NVIDIA H200", (9, 0), 16_896)
    assert {n: f.values[0] for n, f in facts.items()} == {
        "device.name": "NVIDIA H200",
        "device.compute_capability": (9, 0),
        "device.shared_bytes_per_block": 232_448,
        "device.sms": 132,
    }


def test_a_device_that_the_tables_do_not_know_has_fewer_facts() -> None:
    assert set(described_device("Future", (99, 0), 1)) == {"device.name", "device.compute_capability"}


def test_the_toolchain_is_what_is_installed() -> None:
    cuda = toolchain_facts().get("toolchain.cuda")
    assert cuda is not None
    assert judge("toolchain.cuda >= (12, 0)", toolchain_facts()).truth is Truth.HOLDS
