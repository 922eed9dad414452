"""The `klineage` command: finds the commands in `commands/` and imports one only when it is used."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import click

from kernel_gate.cleaning import CleanStream
from kernel_gate.files.reading import RefusedFile
from kernel_gate.files.writing import why_unwritable
from kernel_lineage.cache_folder import KEEP_IN
from kernel_lineage.cli import commands
from kernel_lineage.cli.ending import ENVIRONMENT, status_of


class _LazyGroup(click.Group):
    """Commands are the modules of `commands`; `skills_cmd.py` would be a bug, `skills.py` is the command `skills`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(m.name for m in pkgutil.iter_modules(commands.__path__) if not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{commands.__name__}.{cmd_name}").command
        return command

    def main(self, *arguments: Any, **more: Any) -> Any:
        """Run with streams on which a stranger's words do nothing but be read."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None and not isinstance(stream, CleanStream):
                setattr(sys, name, CleanStream(stream))
        return super().main(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what the disk refuses is said in words, whichever file it is, and so is endless nesting."""
        try:
            return super().invoke(ctx)
        except RecursionError:
            click.echo(
                "Stopped: something that was to be read nests deeper than this program reads.", err=True
            )
            sys.exit(ENVIRONMENT)
        except (OSError, sqlite3.OperationalError) as error:
            why: str | None
            if isinstance(error, RefusedFile):
                why = str(error)
            elif isinstance(error, OSError):
                why = why_unwritable(error)
            else:
                why = f"what is kept of the repository cannot be written ({error}); see --keep-in"
            if why is None:
                raise
            click.echo(f"Stopped: {why}.", err=True)
            sys.exit(ENVIRONMENT)
        except Exception as error:
            status = status_of(error)
            if status is None:
                raise
            click.echo(str(error), err=True)
            sys.exit(status)


def _keep_in(_context: click.Context, _parameter: click.Parameter, folder: Path | None) -> None:
    if folder is not None:
        os.environ[KEEP_IN] = str(folder.absolute())  # for the processes that are started as well


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kernel-lineage", prog_name="klineage")
@click.option(
    "--keep-in",
    type=click.Path(file_okay=False, path_type=Path),
    expose_value=False,
    callback=_keep_in,
    metavar="FOLDER",
    help="Keep what is worked out of repositories in FOLDER instead of your cache folder.",
)
def main() -> None:
    """Mine the lineages of GPU kernels, see when each optimisation is sound, change code only through the gate."""
