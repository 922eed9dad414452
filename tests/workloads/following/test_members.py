"""Constants and types that host code takes from classes, as templates of traits hand them on."""

from __future__ import annotations

from pathlib import Path

from workloads.following.first_drafts import first_draft

SOURCE = """\
enum Kind { PLAIN, SCALED = 4, SHIFTED };
template <int kBytes> struct Vector {};
template <> struct Vector<16> { using Type = uint4; };
template <int kThreads_, bool kEven_, typename input_t_, int kRows_ = 2>
struct Traits {
  using input_t = input_t_;
  static constexpr int kThreads = kThreads_;
  static constexpr int kBytes = sizeof(input_t);
  static constexpr int kElements = kBytes == 4 ? 4 : 8;
  static constexpr bool kEven = kEven_;
  using vec_t = typename Vector<kBytes * kElements>::Type;
  using sum_t = std::conditional_t<std::is_same_v<input_t, float>, double, float>;
  static constexpr int kSmem = kThreads * sizeof(vec_t) + kRows_ * sizeof(sum_t);
};
template <typename K> __global__ void scale(const float* x, float* y, int n, int kind) {
  typename K::input_t f = kind;
  int i = blockIdx.x * K::kThreads + threadIdx.x; if (i < n) y[i] = x[i] * f;
}
template <int kThreads, typename input_t> void launch(at::Tensor x, at::Tensor y, int n) {
  auto start = [&]<bool kEven>() {
    using K = Traits<kThreads, kEven, input_t>;
    constexpr int kSmem = K::kSmem;
    auto kernel = &scale<K>;
    kernel<<<(n + K::kThreads - 1) / K::kThreads, K::kThreads, kSmem>>>(
        x.data_ptr<typename K::input_t>(), y.data_ptr<float>(), n, SHIFTED);
  };
  start.template operator()<true>();
}
void forward(at::Tensor x, at::Tensor y) {
  int n = x.size(0);
  TORCH_CHECK(x.dim() == 1);
  launch<128, float>(x, y, n);
}
"""


def test_constants_and_types_of_traits_are_read_for_their_arguments(tmp_path: Path) -> None:
    draft = first_draft(tmp_path, SOURCE)
    assert draft.template_arguments == ("Traits<128, true, float>",)
    assert draft.block == ("128",)
    assert draft.grid == ("ceil_div(n, 128)",)
    assert draft.shared_bytes == str(128 * 16 + 2 * 8)
    assert next(a.dtype for a in draft.arguments if a.name == "x") == "float32"


def test_an_enumerator_without_a_value_is_one_more_than_the_one_before_it(tmp_path: Path) -> None:
    draft = first_draft(tmp_path, SOURCE)
    assert next(a.value for a in draft.arguments if a.name == "kind") == "5"
