"""Workloads that tests write, an argument in a line."""

from __future__ import annotations


def workload_text(
    kernel: str,
    dims: str,
    launch: str,
    *arguments: str,
    language: str = "cuda",
    source: str = "",
    promise: str = "",
    align: int = 0,
) -> str:
    """The TOML of a workload: `out: output float32 [N, C]`, `x: input int32 [N] integers(0, C)`, `n: int32 = N * C`."""
    text = f'kernel = "{kernel}"\nlanguage = "{language}"\n'
    text += f'source = "{source}"\n' if source else ""
    text += f'promises = ["{promise}"]\n' if promise else ""
    text += f"[dims]\n{dims}\n[launch]\n{launch}\n"
    for argument in arguments:
        name, rest = argument.split(": ")
        if "=" in rest:
            dtype, value = rest.split(" = ")
            text += f'[[args]]\nname = "{name}"\nkind = "scalar"\ndtype = "{dtype}"\nvalue = "{value}"\n'
        else:
            head, _, values = rest.partition("]")
            kind, dtype, shape = head.split(" ", 2)
            extents = ", ".join(f'"{e}"' for e in shape.strip("[").split(", "))
            text += f'[[args]]\nname = "{name}"\nkind = "{kind}"\ndtype = "{dtype}"\nshape = [{extents}]\n'
            text += f"align = {align}\n" if align else ""
            text += f'values = "{values.strip()}"\n' if values else ""
    return text
