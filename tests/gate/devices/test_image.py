"""What an image is known by: its code, not where it was compiled."""

from __future__ import annotations

import pytest

from kernel_gate.devices.image import Image

PTX = """\
.version 8.4
.visible .entry k() {
    .loc 1 3 5
    ret;
}
    .file 1 "/tmp/one/a.py"
    .section .debug_info
    {
.b8 119
.b8 53
    }
"""


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (PTX.replace("/tmp/one", "/tmp/other").replace(".b8 119", ".b8 120"), True),
        (PTX.replace(".loc 1 3 5", ".loc 1 4 9"), True),
        (PTX.replace("ret;", "exit;"), False),
    ],
    ids=["another folder", "another line", "another instruction"],
)
def test_the_digest_is_that_of_the_code(other: str, same: bool) -> None:
    assert (Image("k", PTX).sha256 == Image("k", other).sha256) is same
