"""What `klineage optimise --write` leaves behind."""

from pathlib import Path

import pytest

from kernel_gate.verdict import Outcome, Verdict
from kernel_lineage.rewrite.optimise.document import OptimiseDocument
from kernel_lineage.rewrite.optimise.loop import Ended, Version
from kernel_lineage.rewrite.optimise.session import Asked, _kept


@pytest.mark.parametrize("launch", [{}, {"num_warps": "8"}], ids=["the text alone", "with its launch"])
def test_a_file_is_written_where_its_text_is_all_that_changes(tmp_path: Path, launch: dict[str, str]) -> None:
    path = tmp_path / "rows.py"
    path.write_text("before\n")
    verdict = Verdict(outcome=Outcome.ACCEPTED, code=None, reason="faster", stages=[], inputs_hash="")
    document = OptimiseDocument(
        path=str(path), kernel="rows", device="cuda", stopped="roofline", reason="Done.", timed=True,
        verdict=verdict, source_sha256="", seconds=1.0, device_seconds=1.0,
    )  # fmt: skip
    ended = Ended(document, Version(b"after\n", launch), {})

    kept = _kept(Asked(str(path), write=True), ended, path, tmp_path, b"before\n")

    assert kept.applied == (not launch)
    assert path.read_text() == ("before\n" if launch else "after\n")
    assert ("was left alone, because its launch changes" in kept.reason) == bool(launch)
