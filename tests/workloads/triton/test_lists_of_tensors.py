"""Lists of tensors that host code goes through, of which no caller is known; parameters of optimizers and objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft

KERNEL = """\
import math
import torch
import triton
import triton.language as tl


@triton.jit
def step(p, g, lr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    tl.store(p + at, tl.load(p + at, mask=keep) - lr * tl.load(g + at, mask=keep), mask=keep)


"""
LAUNCH = "step[(triton.cdiv(p.numel(), 256),)](p, g, lr, p.numel(), BLOCK=256)"


def drafted(folder: Path, host: str) -> Draft:
    (folder / ".git").mkdir(parents=True)
    (folder / "rows.py").write_text(KERNEL + host)
    return draft_of(kernel_of(folder / "rows.py", "step"), folder / "rows.py", measure=False)


def shapes(draft: Draft) -> dict[str, tuple[str, ...] | None]:
    return {a.name: a.shape for a in draft.arguments if a.kind != "scalar"}


LOOPS = {
    "zip": "for p, g in zip(params, grads):\n",
    "zip-strict": "for p, g in zip(params, grads, strict=True):\n",
    "numbered": "for i, p in enumerate(params):\n        g = grads[i]\n        if g is None:\n            continue\n",
    "numbered-pairs": "for i, (p, g) in enumerate(zip(params, grads)):\n",
    "range": "for i in range(len(params)):\n        p, g = params[i], grads[i]\n",
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("types", ["params, grads", "params: list, grads: list[torch.Tensor]"])
def test_each_tensor_of_a_list_is_launched_alike(tmp_path: Path, loop: str, types: str) -> None:
    draft = drafted(tmp_path, f"def run({types}, lr: float):\n    {loop}        {LAUNCH}\n")
    assert draft.missing == ()
    assert draft.grid == ("ceil_div(p_elements, 256)",)
    assert shapes(draft) == {"p": ("p_elements",), "g": ("p_elements",)}


def test_a_helper_is_given_the_lists(tmp_path: Path) -> None:
    draft = drafted(
        tmp_path,
        f"def apply(params, grads, lr):\n    for p, g in zip(params, grads):\n        {LAUNCH}\n\n\n"
        "def run(model, lr=0.1):\n"
        "    params = [p for p in model.parameters()]\n    apply(params, [p.grad for p in params], lr)\n",
    )
    assert draft.missing == ()
    assert shapes(draft) == {"p": ("p_elements",), "g": ("p_elements",)}


def test_results_are_made_one_for_each_tensor(tmp_path: Path) -> None:
    host = """\
def run(xs, lr: float):
    outs = [torch.empty_like(x) for x in xs]
    for g, p in zip(xs, outs):
        rows, cols = g.shape
        step[(rows,)](p, g, lr, rows * cols, BLOCK=256)
    return outs
"""
    assert shapes(drafted(tmp_path, host)) == {"p": ("rows", "cols"), "g": ("rows", "cols")}


def test_elements_that_are_taken_apart_are_tensors_of_their_own(tmp_path: Path) -> None:
    host = f"def run(both: tuple[torch.Tensor, torch.Tensor], lr: float):\n    p, g = both\n    {LAUNCH}\n"
    draft = drafted(tmp_path, host)
    assert draft.missing == ()
    assert shapes(draft) == {"p": ("p_elements",), "g": ("p_elements",)}


@pytest.mark.parametrize("use", ["n = params.shape[0]", "n = torch.empty_like(params)"])
def test_what_is_used_as_a_tensor_is_no_list(tmp_path: Path, use: str) -> None:
    host = (
        f"def run(params, g, lr: float):\n    {use}\n    for i, p in enumerate(params):\n        {LAUNCH}\n"
    )
    assert not any("is taken to hold" in note for note in drafted(tmp_path, host).assumed)


OPTIMIZER = """\
class Steps(torch.optim.Optimizer):
    def __init__(self, params, lr=0.125):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            lr = group["lr"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = self.state[p].setdefault("mean", torch.zeros_like(p))
                LAUNCH
        return loss
"""


def test_the_step_of_an_optimizer_goes_through_its_parameters(tmp_path: Path) -> None:
    draft = drafted(tmp_path, OPTIMIZER.replace("LAUNCH", LAUNCH))
    assert draft.missing == ()
    assert shapes(draft) == {"p": ("p_elements",), "g": ("p_elements",)}
    assert next(a.value for a in draft.arguments if a.name == "lr") == "0.125"


def test_a_method_has_what_its_constructor_was_given(tmp_path: Path) -> None:
    host = """\
class Cascade:
    def __init__(self, levels: int, width: int):
        self.levels, self.width = levels, width

    def run(self, g, lr: float):
        for level in range(self.levels):
            n = self.width
            p = torch.empty(n, device=g.device, dtype=g.dtype)
            step[(triton.cdiv(n, 256),)](p, g, lr * math.pi, n, BLOCK=256)
            g = p
        return g
"""
    draft = drafted(tmp_path, host)
    assert draft.missing == ()
    assert (draft.grid, shapes(draft)["p"]) == (("ceil_div(width, 256)",), ("width",))


def test_a_method_of_a_class_has_the_class(tmp_path: Path) -> None:
    host = f"""\
class Launcher:
    BLOCK = 256

    @classmethod
    def run(cls, p, g, lr: float):
        {LAUNCH.replace("256", "cls.BLOCK")}
"""
    draft = drafted(tmp_path, host)
    assert (draft.missing, draft.constexpr) == ((), {"BLOCK": "256"})
