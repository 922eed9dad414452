"""Tensors that a caller may leave out: what is asked of them is decided as they are taken to be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from workloads.following.first_drafts import first_draft

ADD = """
__global__ void add(const float* x, const float* b, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] + (b ? b[i] : 0.f);
}
at::Tensor run(at::Tensor x, const std::optional<at::Tensor>& bias, bool flag) {
  int n = x.numel();
  auto y = at::empty_like(x);
  const float* b = nullptr;
  BODY
  add<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), b, y.data_ptr<float>(), n);
  return y;
}
"""


@pytest.mark.parametrize(
    "body",
    [
        "if (bias) { TORCH_CHECK(bias->numel() == n); b = bias->const_data_ptr<float>(); }",
        "if (bias.has_value()) { TORCH_CHECK(bias->numel() == n); b = bias.value().data_ptr<float>(); }",
        "if (bias && flag) { TORCH_CHECK((*bias).numel() == n); b = (*bias).data_ptr<float>(); }",
        "if (flag && bias) { TORCH_CHECK(bias->numel() == n); b = bias->data_ptr<float>(); }",
        "if (!bias) { b = nullptr; } else { TORCH_CHECK(bias->numel() == n); b = bias->data_ptr<float>(); }",
    ],
)
def test_an_optional_tensor_that_is_there_is_handed_on(tmp_path: Path, body: str) -> None:
    draft = first_draft(tmp_path, ADD.replace("BODY", body), "add")
    argument = next(a for a in draft.arguments if a.name == "b")
    assert (argument.kind, argument.shape) == ("input", ("n",))
    assert "bias, which run may do without, is taken to be there" in draft.assumed
