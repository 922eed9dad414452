"""Each mechanism is known in many spellings: every part of `spellings/ID.cu` and `spellings/ID.triton` shows it."""

from pathlib import Path

import pytest

from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language

_FOLDER = Path(__file__).parent / "spellings"
_LANGUAGES = {".cu": Language.CUDA, ".triton": Language.TRITON}
_HEADS = {".cu": "", ".triton": "import triton\nimport triton.language as tl\n\n"}
_MARKS = {".cu": "// ---\n", ".triton": "# ---\n"}

SPELLINGS = [
    pytest.param(path.stem, _LANGUAGES[path.suffix], _HEADS[path.suffix] + part, id=f"{path.name}-{number}")
    for path in sorted(_FOLDER.iterdir())
    for number, part in enumerate(path.read_text().split(_MARKS[path.suffix]))
]


@pytest.mark.parametrize(("mechanism", "language", "code"), SPELLINGS)
def test_it_is_seen_however_it_is_written(mechanism, language, code):
    kernels = read(code.encode(), language).kernels
    assert kernels
    assert mechanism in {site.mechanism for k in kernels for site in mechanisms_of(k) if site.certain}


def test_each_mechanism_has_ten_spellings():
    counts = {name: len(mechanism.present) for name, mechanism in mechanisms().items()}
    for case in SPELLINGS:
        counts[str(case.values[0])] += 1
    assert {name: n for name, n in counts.items() if n < 10} == {}
