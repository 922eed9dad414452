"""Documents of replayed histories: read from a file, and joined where several runs looked at parts of one history."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kernel_lineage.learning.replay.document import ReplayDocument, ReplayedTransition, Skills


def of_file(path: Path) -> ReplayDocument:
    """The document in a file; of a run that was cut (`.jsonl`), the transitions that it had reached."""
    if path.suffix != ".jsonl":
        return ReplayDocument.model_validate_json(path.read_text())
    whole = (line for line in path.read_text().splitlines() if line.endswith("}"))
    transitions = [ReplayedTransition.model_validate(json.loads(line)) for line in whole]
    return ReplayDocument(
        repository=path.stem,
        device=transitions[0].device if transitions else "",
        found=len(transitions),
        remaining=0,
        unstudied=0,
        statuses=dict(Counter(t.status for t in transitions)),
        codes=dict(Counter(t.code for t in transitions)),
        transitions=transitions,
        skills=Skills(proposed=[], admitted=[], refused=[]),
        device_seconds={},
        messages=["the run was cut"],
    )


def in_folder(folder: Path, name: str) -> ReplayDocument | None:
    """What a run with `--into` kept of a repository, whole or cut."""
    kept = (folder / f"{name}.json", folder / f"{name}.jsonl")
    return next((of_file(path) for path in kept if path.exists()), None)


def joined(documents: Sequence[ReplayDocument]) -> ReplayDocument:
    """What several runs found of one history. Of a transition that two have reached, the later run's word counts."""
    last = documents[-1]
    if len(documents) == 1:
        return last
    transitions = list({t.id: t for document in documents for t in document.transitions}.values())
    transitions_in_all = max(len(transitions), *(d.found for d in documents))
    seconds = Counter[str]()
    for document in documents:
        seconds.update(document.device_seconds)
    return last.model_copy(
        update={
            "found": transitions_in_all,
            "remaining": transitions_in_all - len(transitions),
            "unstudied": sum(d.unstudied for d in documents),
            "statuses": dict(Counter(t.status for t in transitions)),
            "codes": dict(Counter(t.code for t in transitions).most_common()),
            "transitions": transitions,
            "skills": Skills(
                proposed=sorted({s for d in documents for s in d.skills.proposed}),
                admitted=sorted({s for d in documents for s in d.skills.admitted}),
                refused=list(dict.fromkeys(s for d in documents for s in d.skills.refused)),
            ),
            "device_seconds": dict(seconds),
            "messages": [m for d in documents for m in d.messages],
        }
    )
