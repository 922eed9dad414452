"""A repository whose every word wants to act where it is shown: names, subjects, comments, cards, exceptions."""

from __future__ import annotations

from pathlib import Path

from history.repositories import Step, make_repository

ESCAPES = "\x1b]0;pwned\x07\x1b[2J\x1b[95mPWNED\x9b31m\x1b]8;;https://evil.invalid\x1b\\link"
INVISIBLE = "\u202egnp.exe\u2066\u200b\U000e0041\u2028"
MARKUP = "<img src=x onerror=alert(1)><script>alert(1)</script>\"'&"
LINKS = "`![seen](https://evil.invalid/seen.png)[Fix it](command:workbench.action.quit)<https://evil.invalid>"
RICH = "[bold][/nothing][link=https://evil.invalid]x[/link]:smile:"
WORDS = ESCAPES + INVISIBLE + MARKUP + LINKS + RICH

BANNED = (
    "\x1b]",
    "\x1b[2J",
    "\x1b[95m",
    "\x07",
    "\x9b",
    "\u202e",
    "\u2066",
    "\u200b",
    "\U000e0041",
    "\u2028",
)
"""What no sink may get, also not one to which our own drawing goes."""

KERNEL = f"""\
// {WORDS}
__global__ void scale(float* out, const float* x, float alpha, int C) {{
    const float* row = x + blockIdx.x * C;
    for (int i = threadIdx.x; i < C /* {WORDS} */; i += blockDim.x) {{
        out[blockIdx.x * C + i] = alpha * row[i];
    }}
}}
void launch_scale(float* out, const float* x, float alpha, int N, int C) {{
    scale<<<N, 64>>>(out, x, alpha, C);
}}
"""
GUARDED = KERNEL.replace("alpha * row[i];", f"alpha > 0 /* {WORDS} */ ? alpha * row[i] : 0.0f;")
UNBUILDABLE = KERNEL.replace("void scale(", "void broken(").replace(
    "alpha * row[i]", f'undeclared_{{{{}}}}"{WORDS}"'
)
WORKLOAD = """\
kernel   = "scale"
language = "cuda"
source   = "scale.cu"
[dims]
N = [3]
C = [128]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "alpha"
kind = "scalar"
dtype = "float32"
value = "2"
[[args]]
name = "C"
kind = "scalar"
dtype = "int32"
value = "C"
[launch]
grid = ["N"]
block = [64]
"""
ORACLE = WORKLOAD + '[oracle]\npython = "oracles.py:scale"\n'
RAISING = f"def scale(**_):\n    raise ValueError({WORDS!r})\n"
MODULE = f"""\
import torch
import torch.nn as nn


class Model(nn.Module):
    '''Harmless.'''
    def forward(self, x):
        raise ValueError({WORDS!r})


ModelNew = Model


def get_inputs():
    return [torch.rand(4)]


def get_init_inputs():
    return []
"""


def _toml(text: str) -> str:
    return (
        '"' + "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'
    )


CARD = f"""\
[skill]
title = {_toml("Faster rows" + WORDS)}
summary = {_toml(WORDS)}
mechanism = "launch_bounds"
languages = ["cuda"]
effect = {_toml(WORDS)}
[skill.anchor]
pattern = "launch_configuration"
[[condition]]
kind = "validity"
category = "shape"
expr = "C % 4 == 0"
reason = {_toml(WORDS)}
origin = "author"
[[nothing_to_say]]
category = "layout"
reason = {_toml(WORDS)}
[[risk]]
what = {_toml(WORDS)}
evidence = {_toml(WORDS)}
"""
CARRIER = f"---\nname: hostile\ndescription: {_toml(WORDS)}\nlicense: Apache-2.0\n---\n\n{LINKS}\n{MARKUP}\n"


def hostile_repository(folder: Path) -> Path:
    """Made in a folder, with a history; the file `scale.cu` is first. Gives the folder."""
    files: dict[str, str | bytes | None] = {
        "scale.cu": KERNEL,
        ".klineage/workloads/scale.toml": WORKLOAD,
        ".klineage/skills/hostile/conditions.toml": CARD,
        ".klineage/skills/hostile/SKILL.md": CARRIER,
        f".klineage/skills/{RICH.replace('/', '')}/conditions.toml": WORDS,
        ".klineage/skills/hostile/cases/applies/01.before.cu": KERNEL,
        ".klineage/skills/hostile/cases/applies/01.after.cu": GUARDED,
        ".klineage/skills/hostile/cases/refuses/01.cu": KERNEL,
        "broken.cu": UNBUILDABLE,
        "submissions/model.py": MODULE,
    }
    steps = [
        Step(f"Add {WORDS}", files),
        Step(
            f"Speed up {WORDS}",
            {"scale.cu": GUARDED, "other\x1b[95m\u202e.cu": KERNEL.replace("scale", "other")},
        ),
        Step(f"fix race {WORDS}", {"scale.cu": KERNEL.replace("alpha *", "1.0f * alpha *")}),
        Step(f"Revert {WORDS}", {"scale.cu": KERNEL}),
    ]
    make_repository(folder, steps)
    (folder / "oracle.toml").write_text(ORACLE, "utf-8")
    (folder / "oracles.py").write_text(RAISING, "utf-8")
    (folder / "unreadable.toml").write_text(f"kernel = '{RICH}'\n[{_toml(WORDS)}]\nx = 1\n", "utf-8")
    (folder / "quick.cu").write_text(GUARDED.replace("alpha * row[i]", "row[i] * alpha"), "utf-8")
    (folder / "wrong.cu").write_text(KERNEL.replace("alpha * row", "-alpha * row"), "utf-8")
    return folder
