"""A kernel that computes a matrix product, read for a rewrite, and the edits that all rewrites of it make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.layout import data_of, fresh_name, syntax_of
from kernel_lineage.rewrite.assists.product_launch import Blocks, tiled_launches
from kernel_lineage.rewrite.assists.product_outputs import outputs_of, with_body
from kernel_lineage.rewrite.assists.product_sum import SumOfProducts, sum_of
from kernel_lineage.rewrite.assists.products import Product, product_of
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.candidate import Edit


@dataclass(frozen=True, slots=True)
class ProductTask:
    """What is to be rewritten."""

    kernel: Kernel
    syntax: CudaSyntax
    product: Product
    total: SumOfProducts

    def names(self, wanted: str) -> dict[str, str]:
        """A name that the kernel's file does not use for each of the wanted ones."""
        taken = set(WORD.findall(data_of(self.kernel).decode("utf-8", "replace")))
        return {name: fresh_name(name, taken) for name in wanted.split()}

    def work(self, place: tuple[str, str], value: str) -> list[str]:
        """The lines of the work for one output: `place` are the names of its row and column, `value` is its sum of
        products; "" works it out as the kernel did.
        """
        written = dict(zip(self._axes, place, strict=True))
        outputs = outputs_of(self.kernel, self.syntax, self.product, self.total, written, value)
        flat = self.product.flat
        ended = (
            {"x": c_text(flat.columns), "y": c_text(flat.rows)} if flat is not None else self.product.counted
        )
        return [*(f"if ({written[axis]} >= {count}) continue;" for axis, count in ended.items()), *outputs]

    @property
    def _axes(self) -> tuple[str, str]:
        return self.product.first.axis, self.product.second.axis

    def edits(
        self,
        place: tuple[str, str],
        value: str,
        tile: tuple[int, int],
        blocks: Blocks,
        code: Callable[[list[str]], list[str]],
    ) -> list[Edit]:
        """The kernel's new body, and launches of a block for each tile of outputs.

        `place` and `value` as `work` takes them, `tile` counts rows and columns; `code` makes the body's lines of the
        lines that do an output's work.
        """
        tiles = dict(zip(self._axes, tile, strict=True))
        launches = tiled_launches(self.kernel, tiles, blocks, self.product.flat)
        return [*launches, with_body(self.kernel, self.syntax, code(self.work(place, value)))]


def task_of(kernel: Kernel) -> ProductTask:
    """The product of a kernel, or why it cannot be rewritten."""
    syntax = syntax_of(kernel)
    product = product_of(kernel)
    return ProductTask(kernel, syntax, product, sum_of(kernel, syntax, product))
