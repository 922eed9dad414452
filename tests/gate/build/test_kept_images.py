"""Images are kept by everything that they depend on, and the oldest are let go."""

from gate.programs import AFFINE
from kernel_gate.build.kept_images import KeptImages
from kernel_gate.build.unit import Unit
from kernel_gate.program import Program

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
