"""What the last check of each kernel said, as an editor shows it: by document, at the lines of the text as it is now.

What was found stays at its lines while the text around them is edited, and goes when its own line is edited or a later
check does not find it again. Of a kernel that was edited since it is shown as what was found before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from pathlib import Path

from lsprotocol import types

from kernel_gate.files.reading import read_file
from kernel_lineage.editor.check_targets import Target
from kernel_lineage.editor.diagnostics import diagnostics, in_header, moved_in_header, moved_lines
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.judged import Judged, in_words, moved_to, with_earlier_proofs
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.learning.version_checks import VersionState

STATUS = "klineage/check"
"""Tells an editor that listens how the check of a document goes: `uri`, `state`, `message`."""

log = logging.getLogger(__name__)


class Verdicts:
    """By document and kernel."""

    def __init__(self, server: EditorServer) -> None:
        self._server = server
        self._judged: dict[str, dict[str, Judged]] = {}
        self._shown: dict[str, dict[str, list[types.Diagnostic]]] = {}
        """By document of kernels, then by where it is: what is underlined."""
        self._passed: dict[tuple[str, str], bytes] = {}
        """The file's text that passed last."""
        self._sound: dict[tuple[str, str], bytes] = {}
        """The same of a text against which the proofs had nothing either."""
        self._told_edited: dict[str, Set[str]] = {}
        """By document, the kernels that were last told to be edited, unless something else was told since."""

    def of(self, uri: str) -> Mapping[str, Judged]:
        """By kernel, what the last check of each said."""
        return self._judged.get(uri, {})

    def passed(self, uri: str, name: str) -> bytes | None:
        """The file's text with which the cases of a kernel were right last."""
        return self._passed.get((uri, name))

    def sound(self, uri: str, name: str) -> bytes | None:
        """The file's text with which a kernel was right last: by its proofs as well, where there is such a text."""
        return self._sound.get((uri, name), self.passed(uri, name))

    def keep_only(self, uri: str, there: Iterable[Target]) -> Mapping[str, Judged]:
        """Forget kernels that are gone; gives the others."""
        judged = self.of(uri)
        self._judged[uri] = {t.name: judged[t.name] for t in there if t.name in judged}
        return self._judged[uri]

    def keep(self, snapshot: Snapshot, name: str, judged: Judged) -> None:
        """Keep what is known now, at the lines of the text as it is now."""
        if judged.passes:
            self._passed[snapshot.uri, name] = snapshot.text.data
            self._server.measured.count(snapshot.source, judged.checked)
        if judged.is_sound:
            self._sound[snapshot.uri, name] = snapshot.text.data
        current = self._server.documents.current(snapshot.uri)
        if current is not None:
            _, text = current
            kept = self._judged.setdefault(snapshot.uri, {})
            now = moved_to(judged, snapshot.text.data, text.data)
            # Whether an edit meanwhile was one of this kernel is seen when it is parsed: until then it may be.
            now = replace(now, is_outdated=text.data != snapshot.text.data)
            kept[name] = with_earlier_proofs(now, kept.get(name))
            self.show(snapshot.uri, text)

    def edited(self, uri: str, before: Text, after: Text) -> None:
        """Keep what was found at its lines."""
        judged = self.of(uri)
        self._edited_header(uri, before, after)
        if any(one.document.findings for one in judged.values()):
            self._judged[uri] = {name: moved_to(one, before.data, after.data) for name, one in judged.items()}
            self.show(uri, after)

    def outdate(self, uri: str, names: Set[str]) -> bool:
        """Show of these kernels, and of no others, that they were edited since; gives whether that is news."""
        before = self.of(uri)
        edited = names & before.keys()
        is_shown = all(one.is_outdated == (name in edited) for name, one in before.items())
        if is_shown and self._told_edited.get(uri, set()) == edited:
            return False
        self._told_edited[uri] = edited
        self._judged[uri] = {name: replace(one, is_outdated=name in edited) for name, one in before.items()}
        current = self._server.documents.current(uri)
        if current is not None:
            self.show(uri, current[1])
        return True

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._told_edited.pop(uri, None)
        if self._judged.pop(uri, {}):
            self._publish(uri, [], {})

    def show(self, uri: str, text: Text) -> None:
        """Underline what was found, also in headers."""
        findings = [f for one in self.of(uri).values() for f in one.document.findings]
        in_headers: dict[str, list[types.Diagnostic]] = {}
        for finding in findings:
            if finding.inner is not None:
                header = Path(finding.inner.path)
                there = self._text_of(header).code_of(finding.inner.line)
                called = types.Location(uri, text.code_of(finding.line))
                in_headers.setdefault(header.as_uri(), []).append(in_header(finding, there, called))
        self._publish(uri, diagnostics(findings, text, uri), in_headers)

    def _publish(
        self, uri: str, own: list[types.Diagnostic], in_headers: dict[str, list[types.Diagnostic]]
    ) -> None:
        """What was found of a document, at its lines and at those of headers, beside what others have found there."""
        before = self._shown.pop(uri, {})
        now = {uri: own, **{header: markers for header, markers in in_headers.items() if header != uri}}
        self._shown[uri] = now
        for place in {uri, *before, *now}:
            if place == uri or before.get(place) != now.get(place):
                markers = [m for shown in self._shown.values() for m in shown.get(place, ())]
                params = types.PublishDiagnosticsParams(place, markers)
                self._server.text_document_publish_diagnostics(params)

    def _text_of(self, path: Path) -> Text:
        """A header as the editor has it, else as the disk has it."""
        current = self._server.documents.current(path.as_uri())
        if current is not None:
            return current[1]
        try:
            return Text(read_file(path), self._server.documents.encoding)
        except OSError:  # it is gone
            return Text(b"", self._server.documents.encoding)

    def _edited_header(self, uri: str, before: Text, after: Text) -> None:
        """Move what others have found in a header; what was at a changed line goes."""
        readers = [other for other, shown in self._shown.items() if other != uri and uri in shown]
        path = self._server.path_of(uri)
        if not readers or path is None:
            return
        lines = moved_lines(before.data, after.data)
        for other in readers:
            self._judged[other] = {
                name: one.mapped(lambda f: moved_in_header(f, str(path), lines))
                for name, one in self.of(other).items()
            }
            if (current := self._server.documents.current(other)) is not None:
                self.show(other, current[1])

    def conclude(self, uri: str, about: Iterable[Target]) -> dict[str, str]:
        """Tell what is known of some kernels together."""
        self._told_edited.pop(uri, None)
        judged = self.of(uri)
        some = [judged[t.name] for t in about if t.name in judged]
        states = {one.document.state for one in some}
        message = "; ".join(map(in_words, some))
        if any(one.is_wrong for one in some):
            return self.tell(uri, "wrong", message)
        return self.tell(uri, "right" if states == {VersionState.RIGHT} else "unclear", message)

    def tell(self, uri: str, state: str, message: str) -> dict[str, str]:
        """Tell how the check of a document goes; gives what was told."""
        answer = {"uri": uri, "state": state, "message": message}
        log.info("%s: %s", uri, message)
        self._server.protocol.notify(STATUS, answer)
        return answer
