"""The language server: what the features share. It answers; compiling, running and mining are other processes.

Each module of `features` adds one feature of the protocol by its `register(server)`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import pkgutil
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcParseError
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from kernel_lineage.editor import features
from kernel_lineage.editor.accepted import Accepted
from kernel_lineage.editor.applicability import Applicability
from kernel_lineage.editor.documents import Documents, Snapshot
from kernel_lineage.editor.lineages import Lineages
from kernel_lineage.editor.measured import Measured
from kernel_lineage.editor.offers import Offers
from kernel_lineage.editor.protocol import EditorProtocol
from kernel_lineage.editor.reached_from import ReachedFrom
from kernel_lineage.editor.runs import Runs
from kernel_lineage.editor.settings import Key, Settings
from kernel_lineage.editor.soon import Soon
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.trust import Trust
from kernel_lineage.editor.views.tree import View
from kernel_lineage.editor.workload_files.open_files import WorkloadFiles
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.headers import HEADERS

if TYPE_CHECKING:
    from kernel_lineage.editor.checks import Checks

log = logging.getLogger(__name__)


class EditorServer(LanguageServer):
    """One server for one editor."""

    protocol: EditorProtocol

    def __init__(self) -> None:
        super().__init__(
            "klineage",
            importlib.metadata.version("kernel-lineage"),
            protocol_cls=EditorProtocol,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            max_workers=2,
        )
        self.settings = Settings()
        self.key = Key.take()
        self.documents = Documents()
        self.workload_files = WorkloadFiles(self)
        self.applicability = Applicability(self.documents.thread)
        self.trust = Trust()
        self.accepted: OrderedDict[str, Accepted] = OrderedDict()
        """Edits that wait for a person's word, by their job."""
        self.offers = Offers(self.trust)
        self.offers.against = self._against
        self.reached_from = ReachedFrom(self.offers, self.told_of_kernels)
        self.checks: Checks | None = None
        """None until the first check: what it needs loads with it."""
        self.lineages = Lineages(self.report_status, self.trust)
        self.runs = Runs(lambda: self.changed(View.RUNS))
        self.measured = Measured(self.told_of_kernels)
        self._to_tell: set[View] = set()
        self._tell_soon = Soon(self._tell_changed)
        self.known_of_checks: list[Callable[[], None]] = []
        """Who wants to know that something else is known of a kernel."""
        self.shown: list[Callable[[str], None]] = []
        """Who wants to know of a document that was opened."""
        self.saved: list[Callable[[str], None]] = []
        """Who wants to know of a document that was saved, or whose workloads changed on the disk."""
        self.edited: list[Callable[[str, Text, Text], None]] = []
        """Who wants to know of an edit: uri, text before and after."""
        self.closed: list[Callable[[str], None]] = []
        for module in sorted(m.name for m in pkgutil.iter_modules(features.__path__)):
            importlib.import_module(f"{features.__name__}.{module}").register(self)

    def configure(self, options: object) -> None:
        """Take over what the editor said at the start."""
        self.settings, problems = Settings.read(options)
        self.trust.granted = self.settings.trusted
        for problem in problems:
            log.warning("initializationOptions: %s", problem)
            message = f"Kernel Lineage: the setting {problem}."
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))
        self.applicability.device = self.offers.device = self.settings.device
        self.documents.encoding = types.PositionEncodingKind(self.workspace.position_encoding)

    def report_status(self, state: str, message: str) -> None:
        """Tell an editor that listens (`klineage/status`) how the background work is going.

        After mining the counts of strategies may be others, so what was ranked by them is ranked anew.
        """
        if state == "ready":
            self.forget_knowledge()
            self.told_of_kernels()
        self.changed(View.LINEAGE)
        self.protocol.notify("klineage/status", {"state": state, "message": message})

    def forget_knowledge(self) -> None:
        """Skills or workloads have changed on the disk."""
        self.applicability.forget()
        self.offers.forget()
        self.changed(View.SKILLS, View.MARKS)

    def changed(self, *views: View) -> None:
        """Tell an editor that listens (`klineage/changed`) what it shows of an older state; several at once."""
        self._to_tell |= set(views)
        self._tell_soon()

    def _against(self, snapshot: Snapshot, kernel: Kernel) -> str:
        """What keeps changes for speed away from a kernel; "" where nothing does."""
        judged = self.checks.judged_of(snapshot.uri, kernel) if self.checks is not None else None
        return "" if judged is None else judged.doubt

    def _tell_changed(self) -> None:
        views, self._to_tell = sorted(self._to_tell), set()
        self.protocol.notify("klineage/changed", {"views": views})

    def told_of_kernels(self) -> None:
        """Something else is known of kernels than what an editor shows above them."""
        for listener in self.known_of_checks:
            listener()

    def report_server_error(self, error: Exception, source: object) -> None:
        """Errors are for the log: an editor shows what concerns a person by itself."""
        log.error("%s: %s", getattr(source, "__name__", source), error)
        if isinstance(error, (ValueError, RecursionError)) and source is JsonRpcException:
            self.protocol.refuse(None, JsonRpcParseError.of(error))  # what cannot be read has no number

    def opened(self, uri: str) -> None:
        """A document was opened: its repository is mined in the background."""
        path = self.path_of(uri)
        if path is not None and self.documents.current(uri) is not None:
            if path.suffix in HEADERS:
                self.reached_from.forget()
            self.lineages.touch(path)
            for listener in self.shown:
                listener(uri)

    def path_of(self, uri: str | None) -> Path | None:
        """Where a document lies; None for one that is not a file."""
        path = to_fs_path(uri) if uri is not None and uri.startswith("file:") else None
        return None if path is None else Path(path)
