"""What rewrites that share sums among the lanes of a warp have in common: the loops, and the exchange at their end."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import Loop, contains, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.layout import descendants, indent_at
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.reductions import Reduction
from kernel_lineage.rewrite.assists.row_loops import RowLoop, row_loop


class NoSuchLoop(Refusal):
    """The refusal of a loop that is of another kind altogether."""


def sums_of(syntax: CudaSyntax, loop: Loop) -> RowLoop:
    """A loop that only adds to sums. Refused where it does anything else."""
    if any(one is not loop and contains(loop.node, one.node) for one in syntax.entry.loops):
        raise NoSuchLoop("a loop around others is no sum")
    row = row_loop(syntax, loop)
    if row.writes or row.down or row.running is not None or not row.reductions:
        raise NoSuchLoop(f"the loop in line {loop.node.start_point.row + 1} is no sum")
    if other := next((r for r in row.reductions if r.operation != "+" or r.carried), None):
        raise Refusal(f"`{other.name}` is chosen, not added up")
    return row


def parts_for(row: RowLoop, parts: dict[str, str], place: str) -> list[tuple[Node, str]]:
    """What stands for the sums in the loop's body: a lane's part of the one at a place."""
    body = row.loop.body
    return [
        (n, f"{parts[text_of(n)]}[{place}]")
        for n in (descendants(body) if body is not None else ())
        if n.type == "identifier" and text_of(n) in parts
    ]


def exchanged(
    sums: tuple[Reduction, ...], parts: dict[str, str], count: int, lane: str, apart: int
) -> list[str]:
    """Statements after which the lane with number p among `count` lanes, `apart` from each other, has the whole of sum
    p as its first part.
    """
    lines: list[str] = []
    half = count // 2
    while half:
        far, at, beyond = half * apart, "place" if half > 1 else "0", f"place + {half}" if half > 1 else "1"
        for one in sums:
            low, high = f"{parts[one.name]}[{at}]", f"{parts[one.name]}[{beyond}]"
            steps = (
                f"const {one.type} away = {lane} & {far} ? {low} : {high};",
                f"{low} = {lane} & {far} ? {high} : {low};",
                f"{low} += __shfl_xor_sync(0xffffffff, away, {far});",
            )
            head = f"for (int place = 0; place < {half}; place++) {{" if half > 1 else "{"
            lines += ["#pragma unroll"] if half > 1 else []
            lines += [head, *(f"    {line}" for line in steps), "}"]
        half //= 2
    return lines


def written_at(data: bytes, node: Node, lines: list[str], newline: str) -> str:
    """Lines in the place of a node that begins its line."""
    margin = indent_at(data, node.start_byte)
    return newline.join(margin + line if line.strip() else "" for line in lines)[len(margin) :]
