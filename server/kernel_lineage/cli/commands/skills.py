"""`klineage skills list | show | check`: the library."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from kernel_gate.standing import ExitCode

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_repository = click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="The repository whose own skills (.klineage/skills) are used too. Default: the one around the current folder.",
)


@click.group()
def command() -> None:
    """List, show and check skills."""


@command.command("list")
@_repository
@_json
def list_skills(repo: Path, as_json: bool) -> None:
    """List the built-in skills and the repository's own."""
    from kernel_lineage.skills.card_text import skill_lines
    from kernel_lineage.skills.document import SkillListDocument, problem_documents
    from kernel_lineage.skills.library import library, repository_of

    collection = library(repository_of(repo))
    if as_json:
        document = SkillListDocument(skills=list(collection), problems=problem_documents(collection.problems))
        click.echo(document.model_dump_json(indent=2))
    else:
        click.echo(skill_lines(collection.skills))
    for problem in collection.problems:
        click.echo(problem, err=True)


@command.command()
@click.argument("skill_id", metavar="SKILL")
@_repository
@_json
@click.pass_context
def show(context: click.Context, skill_id: str, repo: Path, as_json: bool) -> None:
    """Show one skill: what it does, when it is valid, when it pays, what was measured."""
    from kernel_lineage.skills.card_text import skill_text
    from kernel_lineage.skills.document import SkillListDocument
    from kernel_lineage.skills.library import library, nearest, repository_of

    skills = library(repository_of(repo))
    skill = skills.get(skill_id)
    if skill is None:
        click.echo(f"No skill `{skill_id}`{nearest(skills, skill_id)}.", err=True)
        context.exit(ExitCode.WRONG_USE)
    if as_json:
        click.echo(SkillListDocument(skills=[skill], problems=[]).model_dump_json(indent=2))
    else:
        click.echo(skill_text(skill))


@command.command()
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@_repository
@_json
@click.pass_context
def check(context: click.Context, folders: tuple[Path, ...], repo: Path, as_json: bool) -> None:
    """Check skills: their files, names, conditions and cases. FOLDERS are skills or libraries; default: all at hand."""
    from kernel_lineage.skills.check import check_all
    from kernel_lineage.skills.document import CheckDocument, problem_documents

    checked, problems = check_all(folders, repo)
    if as_json:
        document = CheckDocument(checked=checked, problems=problem_documents(problems))
        click.echo(document.model_dump_json(indent=2))
    else:
        for problem in problems:
            click.echo(problem)
        click.echo(f"{checked} skills checked, {len(problems)} problems", err=True)
    context.exit(ExitCode.REJECTED if problems else ExitCode.DONE)


@command.command()
@click.argument("skill_id", metavar="SKILL")
@click.argument("target", metavar="FILE:KERNEL")
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the evidence into this folder (a skill's evidence/) instead of printing it.",
)
def measure(
    skill_id: str,
    target: str,
    device: Literal["auto", "cuda", "emulated"],
    into: Path | None,
) -> None:
    """Carry SKILL over to a kernel, gate the result, change nothing, and keep the verdict as evidence."""
    from kernel_lineage.learning.measured_use import keep, measured_use

    evidence = measured_use(skill_id, target, device)
    click.echo(f"{evidence.outcome}: {evidence.reason}" if into else evidence.model_dump_json(indent=2))
    if into is not None:
        click.echo(f"kept in {keep(evidence, into)}", err=True)


@command.command()
@click.argument(
    "learned", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--into",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The library whose cards take what was learned.",
)
@click.pass_context
def adopt(context: click.Context, learned: tuple[Path, ...], into: Path) -> None:
    """Take over what other repositories taught: facts, not code. LEARNED are their .klineage/skills.

    Conditions, risks and verdicts go into the cards of the same names; a counterexample becomes a refusing case on the
    library's own example kernel. Review the change and commit it.
    """
    from kernel_lineage.learning.distillation.adopt import adopt_all
    from kernel_lineage.skills.library import load

    problems = False
    for library in learned:
        taught, unread = load(library.resolve(), builtin=False)
        own, wrong = load(into.resolve(), builtin=False)  # with what the libraries before this one taught
        for one in adopt_all(taught, {skill.id: skill for skill in own}, into.resolve()):
            if isinstance(one, str):
                problems = True
                click.echo(one, err=True)
            else:
                click.echo(f"{one.skill}: {one}")
        for problem in (*unread, *wrong):
            problems = True
            click.echo(problem, err=True)
    context.exit(ExitCode.REJECTED if problems else ExitCode.DONE)
