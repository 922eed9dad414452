"""The `klineage` command of this interpreter, also as `python -m kernel_lineage`."""

import sys

INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended, as shells have it."""


def start() -> None:
    """Run the command. Ctrl-C while its modules are still being read ends it without a word, as later."""
    try:
        from kernel_lineage.cli.main import main

        main(prog_name="klineage")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    start()
