"""`python -m kernel_gate.sandbox.runner REQUEST`: shuts itself in, then becomes the program that the request names."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from kernel_gate.processes.parent import end_with_parent
from kernel_gate.sandbox.containment import Containment, ContainmentError, enter
from kernel_gate.sandbox.own_limits import limit

CANNOT_ENTER, CANNOT_START = 125, 127
"""Exit statuses of a run that did not begin, as shells have them."""


def main(request: dict[str, Any]) -> None:
    """Become the program. Returns only when that fails."""
    folder, command = Path(request["folder"]), [str(word) for word in request["command"]]
    end_with_parent()
    try:
        enter(Containment(**request["containment"]), folder, [Path(p) for p in request["readable"]])
        limit(request["limits"])
    except ContainmentError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(CANNOT_ENTER) from error
    try:
        os.chdir(request["cwd"])
        os.execvpe(command[0], command, request["environment"])
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        raise SystemExit(CANNOT_START) from error


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
