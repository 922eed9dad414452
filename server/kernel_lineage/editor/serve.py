"""How the server meets its editor: on stdin and stdout, or on a socket."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from kernel_gate.cleaning import CleanFormatter
from kernel_lineage.editor.server import EditorServer

LOCAL = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Only names of this machine: whoever connects can have code compiled and run."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """`5007`, `localhost:5007`. Raises ValueError with a message for people."""
        host, _, port = text.rpartition(":")
        if not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f"{text} is not [HOST:]PORT")
        if host not in {"", LOCAL, "localhost", "[::1]"}:
            raise ValueError(
                f"{host} can be reached from other machines, and whoever connects can have code run here; "
                "listen on 127.0.0.1 and use an SSH tunnel"
            )
        return cls(host.strip("[]") or LOCAL, int(port))


def serve(address: Address | None, verbose: bool) -> None:
    """Answer one editor until it leaves. The log goes to stderr, which editors show as the server's output."""
    handler = logging.StreamHandler()
    handler.setFormatter(CleanFormatter("%(levelname).1s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("kernel_lineage").setLevel(logging.DEBUG if verbose else logging.INFO)
    server = EditorServer()
    if address is None:
        server.start_io()
        return
    logging.getLogger(__name__).info("waiting for an editor on %s:%d", address.host, address.port)
    server.start_tcp(address.host, address.port)
