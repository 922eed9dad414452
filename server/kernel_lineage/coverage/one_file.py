"""The process that looks at one file: `python -m kernel_lineage.coverage.one_file FOLDER`.

Reads request.json there and writes rows.jsonl, one line as soon as a kernel is known. Compiling a Triton kernel
executes the module that it stands in, so the process contains itself first: it may read the surveyed folder and the
compilers, write its own folder, and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from kernel_gate.build.compile import Limits
from kernel_gate.files.reading import read_file
from kernel_gate.processes.parent import end_with_parent
from kernel_gate.sandbox.containment import Containment, enter
from kernel_gate.sandbox.own_limits import limit
from kernel_lineage.coverage.document import KernelCovered
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Language

_CPU_SECONDS = 3600


def _rows(request: dict[str, object], work: Path) -> Iterator[KernelCovered]:
    root, path, arch = Path(str(request["root"])), Path(str(request["path"])), str(request["arch"])
    sites: dict[str, object] = request["sites"]  # type: ignore[assignment]
    data = read_file(root / path, within=root)
    language = language_of(str(path), data)
    if language is None:
        return
    source = read(data, language)
    if language is Language.CUDA:
        from kernel_lineage.coverage.cuda_kernels import cover_cuda

        yield from cover_cuda(source, root, path, arch, sites, work)
    else:
        from kernel_lineage.coverage.triton_kernels import cover_triton

        yield from cover_triton(source, root, path, arch, sites, work)


def main(work: Path) -> None:
    """Answer the request that lies in a folder."""
    end_with_parent()
    request = json.loads((work / "request.json").read_text("utf-8"))
    enter(Containment(**request["containment"]), work, [Path(request["root"])])
    limit(Limits(seconds=_CPU_SECONDS).of_one_process)
    with (work / "rows.jsonl").open("w", encoding="utf-8") as out:
        for row in _rows(request, work):
            out.write(row.model_dump_json() + "\n")
            out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
