"""Images are kept by everything that they depend on, and the oldest are let go."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gate.programs import AFFINE, affine, workload
from kernel_gate import building
from kernel_gate.build.kept_images import KeptImages
from kernel_gate.build.unit import Unit
from kernel_gate.footprint import footprints
from kernel_gate.program import Program
from kernel_gate.stages.build import build

ONE, TWO, THREE = (Unit(num_warps=n) for n in (1, 2, 4))


def asked(kept, units, program=None, arch="sm_90"):
    """Which units had to be compiled."""
    compiled = []

    def compile_them(missing):
        compiled.extend(missing)
        return {unit: f"image of {unit.num_warps}" for unit in missing}

    got = kept.of(program or Program("cuda", AFFINE, "affine"), arch, False, units, compile_them)
    assert list(got) == list(units) and all(got[u] == f"image of {u.num_warps}" for u in units)
    return compiled


def test_only_what_is_missing_is_compiled():
    kept = KeptImages()
    assert asked(kept, [ONE, TWO]) == [ONE, TWO]
    assert asked(kept, [TWO, THREE]) == [THREE]
    assert asked(kept, [ONE, TWO, THREE]) == []


def test_another_text_or_device_is_another_image():
    kept = KeptImages()
    asked(kept, [ONE])
    assert asked(kept, [ONE], Program("cuda", AFFINE + "// other", "affine")) == [ONE]
    assert asked(kept, [ONE], Program("cuda", AFFINE, "affine", defines={"A": "1"})) == [ONE]
    assert asked(kept, [ONE], arch="sm_80") == [ONE]


def test_the_oldest_go():
    kept = KeptImages(most=2)
    asked(kept, [ONE, TWO])
    asked(kept, [ONE, THREE])
    assert asked(kept, [ONE, THREE]) == []
    assert asked(kept, [TWO]) == [TWO]


def test_names_for_messages_are_no_other_image():
    kept = KeptImages()
    asked(kept, [ONE], Program("cuda", AFFINE, "affine", name="before.cu"))
    assert asked(kept, [ONE], Program("cuda", AFFINE, "affine", name="after.cu", first_line=7)) == []


def test_what_two_threads_ask_for_is_built_once():
    kept, begun, compiled = KeptImages(), threading.Event(), []
    program = Program("cuda", AFFINE, "affine")

    def slowly(units):
        begun.set()
        compiled.extend(units)
        threading.Event().wait(0.2)
        return dict.fromkeys(units, "image")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.of, program, "sm_90", False, [ONE, TWO], slowly)
        begun.wait()
        second = pool.submit(kept.of, program, "sm_90", False, [TWO, THREE], slowly)
        assert first.result() == {ONE: "image", TWO: "image"}
        assert second.result() == {TWO: "image", THREE: "image"}
    assert sorted(unit.num_warps for unit in compiled) == [1, 2, 4]


def test_whoever_waits_for_a_build_that_fails_builds_it_too():
    kept, begun = KeptImages(), threading.Event()
    program = Program("cuda", AFFINE, "affine")

    def failing(name):
        def compile_them(units):
            begun.set()
            threading.Event().wait(0.1)
            raise ValueError(name)

        return compile_them

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.of, program, "sm_90", False, [ONE], failing("first"))
        begun.wait()
        second = pool.submit(kept.of, program, "sm_90", False, [ONE], failing("second"))
        for work, name in ((first, "first"), (second, "second")):
            with pytest.raises(ValueError, match=name):
                work.result()
    assert asked(kept, [ONE], program) == [ONE]


def test_a_process_builds_a_program_once_whoever_asks(monkeypatch, nothing_built):
    compiled, dims = [], {"N": 3, "C": 70}

    def counted(program, *rest, **more):
        compiled.append(program.source)
        return compile_program(program, *rest, **more)

    compile_program = building.compile_program
    monkeypatch.setattr(building, "compile_program", counted)
    built = build(affine(), affine(), workload(), [dims], arch="sm_90", want_cubin=False)
    assert built.at_fault == "none"
    assert list(footprints(affine(), workload(), [dims]))
    assert compiled == [AFFINE]
