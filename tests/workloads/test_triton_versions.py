"""A kernel whose helpers depend on Triton's version is cut out with those of the version that is installed."""

from __future__ import annotations

from importlib import metadata

import pytest

from kernel_lineage.workloads.triton_module import kernel_module

MODULE = """\
import operator
import triton
import triton.language as tl
from package.versions import compare

if compare("triton", operator.{op}, "{version}"):
    from triton.language.extra.libdevice import rsqrt
else:
    from triton.language.math import rsqrt

@triton.jit
def k(x):
    tl.store(x, rsqrt(tl.load(x)))
"""


@pytest.mark.parametrize(
    ("op", "version", "installed", "answer"),
    [
        ("ge", "3.0.0", "3.4.0", True),
        ("ge", "3.0.0", "2.3.1", False),
        ("lt", "2.1", "3.4.0", False),
        ("ge", "3.4.0", "3.4.0+git1a2b", True),
    ],
)
def test_a_test_of_the_version_is_answered(monkeypatch, op, version, installed, answer):
    monkeypatch.setattr(metadata, "version", lambda _name: installed)
    text = kernel_module(MODULE.format(op=op, version=version), "k")
    assert f"if {answer}:" in text
    assert "package.versions" not in text
    assert text.count("\n") == MODULE.count("\n")


def test_another_packages_version_is_not_guessed():
    module = MODULE.format(op="ge", version="3.0.0").replace('"triton", operator', '"other", operator')
    text = kernel_module(module, "k")
    assert "package.versions" in text
