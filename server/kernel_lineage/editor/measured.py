"""What was measured of kernels in this window: shares of the device's peak by timed verdicts, and counts by line."""

import hashlib
import statistics
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernel_gate.verdict import Verdict
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.learning.check_document import CheckedDocument, CountedDocument

KEPT = 512
"""Texts of kernels of which a figure is kept."""
_MAKER = "NVIDIA "


@dataclass(frozen=True, slots=True)
class Share:
    """The share of the peak that is nearest, of a kernel's last timed shape."""

    share: float
    """0 … 1, of the memory's peak rate or of the arithmetic's, whichever is larger."""
    device: str
    run: str
    """The id of the run that measured it."""

    @property
    def words(self) -> str:
        """`38 % of peak (H200)`."""
        return f"{self.share:.0%} of peak ({self.device})".replace("%", " %", 1)


@dataclass(frozen=True, slots=True)
class Counts:
    """What the emulated device counted of a kernel that its check found right."""

    lines: tuple[CountedDocument, ...]
    """Their lines are counted from the kernel's first, which is 0."""
    case: str


class Measured:
    """Figures by the text of the kernel and of what all kernels of its file share: an edit has none."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._shares: OrderedDict[bytes, Share] = OrderedDict()
        self._counts: OrderedDict[bytes, Counts] = OrderedDict()
        self._names: set[str] = set()

    def of(self, source: SourceFile, kernel: str) -> Share | None:
        """The share of a kernel as it stands; None where nobody has timed it."""
        if kernel not in self._names:
            return None  # hashing all kernels of a long file takes long
        key = _key(source, kernel)
        return None if key is None else self._shares.get(key)

    def counts_of(self, source: SourceFile, kernel: str) -> Counts | None:
        """The counts of a kernel as it stands; None where no check has found it right."""
        key = _key(source, kernel)
        return None if key is None else self._counts.get(key)

    def count(self, source: SourceFile, checked: CheckedDocument) -> None:
        """Keep what a check of a kernel counted."""
        kernel, key = source.kernel(checked.kernel), _key(source, checked.kernel)
        if kernel is None or key is None or not checked.counted:
            return
        first, last = kernel.span.first_line, kernel.span.last_line
        lines = tuple(
            c.model_copy(update={"line": c.line - first}) for c in checked.counted if first <= c.line <= last
        )
        self._counts[key] = Counts(lines, checked.counted_in)
        while len(self._counts) > KEPT:
            self._counts.popitem(last=False)

    def take(
        self, before: SourceFile, after: SourceFile | None, kernel: str, verdict: Verdict, run: str
    ) -> None:
        """Keep what a verdict measured of a kernel before an edit, and of its candidate."""
        for program, source in (("baseline", before), ("candidate", after)):
            share = None if source is None else share_of(verdict, program, run)
            key = None if source is None else _key(source, kernel)
            if share is not None and key is not None:
                self._shares[key] = share
                self._names.add(kernel)
        while len(self._shares) > KEPT:
            self._shares.popitem(last=False)
        self._changed()


def share_of(verdict: Verdict, program: str, run: str) -> Share | None:
    """The share that `baseline` or `candidate` reached; None for a verdict without times or without the work."""
    profile = verdict.stage("profile")
    shapes = (profile.details.get("shapes") or []) if profile is not None else []
    device = verdict.environment.get("device")
    if not shapes or not isinstance(device, Mapping) or not device.get("name"):
        return None
    samples = (shapes[-1].get("samples") or {}).get(f"{program}_us")
    if not samples:
        return None
    share = _share(shapes[-1], statistics.median(samples) / 1e6)
    return None if share is None else Share(share, str(device["name"]).removeprefix(_MAKER), run)


def _share(shape: Mapping[str, Any], seconds: float) -> float | None:
    rates = (("bytes_declared", "peak_bytes_per_second"), ("flop", "peak_flop_per_second"))
    shares = [
        shape[work] / seconds / shape[peak] for work, peak in rates if shape.get(work) and shape.get(peak)
    ]
    return max(shares, default=None)


def _key(source: SourceFile, name: str) -> bytes | None:
    kernel = source.kernel(name)
    if kernel is None:
        return None
    own = source.data[kernel.span.start : kernel.span.end]
    return hashlib.sha256(name.encode() + b"\0" + own + b"\0" + source.around_kernels()).digest()
