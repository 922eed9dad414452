// What host code of extensions calls of PyTorch, as functions and as methods, with shapes that the launch depends on.
#include <torch/extension.h>
namespace F = torch::nn::functional;
using namespace torch::indexing;

__global__ void copied(float* out, const float* x, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = x[i];
}
void same(const torch::Tensor& a, at::IntArrayRef sizes) { TORCH_CHECK(a.sizes() == sizes, "another shape"); }

torch::Tensor linear_copied(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  const int64_t n = x.size(0), k = x.size(1), m = w.size(0);
  auto h = torch::addmm(b, x, w.t());
  same(h, {n, m});
  same(F::linear(x, w, b), {n, m});
  same(at::matmul(x, w.transpose(0, 1)) + b * 2 - 1.0f / x.sum(), {n, m});
  same(torch::einsum("ij,kj->ik", {x, w}), {n, m});
  same(at::baddbmm(b, x.unsqueeze(0), w.t().unsqueeze(0)), {1, n, m});
  same(std::get<0>(torch::max(h, 1)), {n});
  auto [values, places] = h.topk(1, -1);
  same(values, {n, 1});
  TORCH_CHECK(places.scalar_type() == torch::kLong);
  same(torch::where(h > 0, h, torch::zeros_like(h)), {n, m});
  TORCH_CHECK((h > 0).dtype() == torch::kBool && torch::isnan(h).scalar_type() == at::kBool);
  same(torch::exp(x - std::get<0>(x.max(1, true))), {n, k});
  same(torch::softmax(h, -1), {n, m});
  same(torch::gelu(h), {n, m});
  same(torch::log_softmax(x, 1), {n, k});
  same(at::layer_norm(x, {k}), {n, k});
  same(at::sum(h, {0, 1}), {});
  same(torch::mean(h, {1}, true), {n, 1});
  same(torch::std(x, 1), {n});
  same(x.var() + x.norm(), {});
  same(torch::cumsum(x, 0), {n, k});
  same(torch::argsort(x).to(torch::kFloat), {n, k});
  same(torch::clamp(torch::relu(x), 0, 1), {n, k});
  auto image = x.view({1, 1, n, k});
  same(torch::conv2d(image, torch::ones({3, 1, 1, 1}), {}, {1, 1}, {0, 0}), {1, 3, n, k});
  same(at::conv2d(image, torch::ones({2, 1, 3, 3}), torch::Tensor(), 1, 1), {1, 2, n, k});
  same(torch::constant_pad_nd(x, {1, 2}), {n, k + 3});
  same(torch::arange(0, n, torch::kInt32), {n});
  same(torch::tensor({1.f, 2.f}), {2});
  same(torch::tensor({1, 2, 3}, torch::kInt32), {3});
  same(torch::full({n}, -INFINITY, x.options()), {n});
  same(torch::full_like(x, 0.5), {n, k});
  same(torch::transpose(x, 0, 1).contiguous(), {k, n});
  same(torch::permute(x, {1, 0}), {k, n});
  same(torch::reshape(x, {-1}), {n * k});
  same(torch::flip(x, {0}), {n, k});
  same(x.unsqueeze(0).repeat({2, 1, 1}), {2, n, k});
  same(x.repeat_interleave(2, 0), {2 * n, k});
  same(torch::cat({x, x}, 0), {2 * n, k});
  same(torch::split(x, 1)[0], {1, k});
  same(at::index_select(x, 0, torch::tensor({0, 0, 0})), {3, k});
  if (torch::isnan(x).any().item<bool>()) x = -x;
  x.add_(1).mul_(2);
  x.index_put_({Slice(), 0}, 1);
  auto out = torch::empty_like(h);
  copied<<<(h.numel() + 63) / 64, 64>>>(out.data_ptr<float>(), h.data_ptr<float>(), h.numel());
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("linear_copied", &linear_copied); }
