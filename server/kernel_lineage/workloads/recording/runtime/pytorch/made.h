// Functions of PyTorch that make tensors.
#pragma once
#include "tensor.h"

namespace at {
#define KLINEAGE_OPERATOR(op)                                                                                          \
  inline Tensor operator op(const Tensor &a, const Tensor &) { return a.clone(); }                                    \
  inline Tensor operator op(const Tensor &a, double) { return a.clone(); }                                            \
  inline Tensor operator op(double, const Tensor &a) { return a.clone(); }
KLINEAGE_OPERATOR(+) KLINEAGE_OPERATOR(-) KLINEAGE_OPERATOR(*) KLINEAGE_OPERATOR(/)

#define KLINEAGE_FREE(name) template <class... A> Tensor name(const Tensor &a, A &&...) { return a.clone(); }
KLINEAGE_ELEMENTWISE(KLINEAGE_FREE)
KLINEAGE_FREE(softmax) KLINEAGE_FREE(isnan) KLINEAGE_FREE(isfinite) KLINEAGE_FREE(maximum) KLINEAGE_FREE(minimum)

#define KLINEAGE_MADE(name, how)                                                                                       \
  template <class... A> Tensor name(IntArrayRef s, TensorOptions o = {}, A &&...) { return Tensor::make(s, o.dtype(), how); } \
  inline Tensor name##_like(const Tensor &t) { return t.fresh(t.got().at.sizes, how); }                               \
  template <class... A> Tensor name##_like(const Tensor &t, TensorOptions o, A &&...) {                               \
    return Tensor::make(t.got().at.sizes, o.type.value_or(t.got().type), how);                                        \
  }                                                                                                                    \
  inline Tensor name##_like(const Tensor &t, MemoryFormat) { return name##_like(t); }
KLINEAGE_MADE(empty, "unset") KLINEAGE_MADE(zeros, "cleared") KLINEAGE_MADE(ones, "data") KLINEAGE_MADE(rand, "data")
KLINEAGE_MADE(randn, "data")
inline Tensor full(IntArrayRef s, Scalar, TensorOptions o = {}) { return Tensor::make(s, o.dtype(), "data"); }
inline Tensor full_like(const Tensor &t, Scalar) { return t.clone(); }
inline Tensor empty_strided(IntArrayRef s, IntArrayRef strides, TensorOptions o = {}) {
  int64_t room = 1;
  for (size_t i = 0; i < s.size(); ++i) room += (s[i] - 1) * strides[i];
  return Tensor::make({room}, o.dtype(), "unset").as(s.vec(), strides.vec(), 0);
}
inline Tensor arange(int64_t n, TensorOptions o = {}) { return Tensor::make({n}, o.dtype(), "data"); }
inline Tensor tensor(ArrayRef<int64_t> v, TensorOptions o = {}) { return Tensor::make({int64_t(v.size())}, o.type.value_or(kLong), "data"); }
inline Tensor from_blob(void *, IntArrayRef s, TensorOptions o = {}) { return Tensor::make(s, o.dtype(), "data"); }
inline Tensor sum(const Tensor &a, IntArrayRef k, bool keep = false) { return a.sum(k, keep); }
inline Tensor matmul(const Tensor &a, const Tensor &b) { return a.matmul(b); }
inline Tensor mm(const Tensor &a, const Tensor &b) { return a.matmul(b); }
inline Tensor bmm(const Tensor &a, const Tensor &b) { return a.matmul(b); }
inline Tensor cumsum(const Tensor &a, int64_t k, optional<ScalarType> t = {}) { return a.cumsum(k, t); }
template <class... A> Tensor sparse_coo_tensor(const Tensor &, const Tensor &values, IntArrayRef s, A &&...) { return values.fresh(s, "data"); }
template <class... A> std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor &t, A &&...) {
  return {t.clone(), Tensor::make({t.numel()}, kLong, "data"), Tensor::make({t.numel()}, kLong, "data")};
}
template <class... A> auto unique_dim(const Tensor &t, A &&...a) { return unique_consecutive(t, a...); }
template <class... A> auto _unique2(const Tensor &t, A &&...a) { return unique_consecutive(t, a...); }
inline std::tuple<Tensor, Tensor> sort(const Tensor &t, int64_t = -1, bool = false) {
  return {t.clone(), Tensor::make(t.got().at.sizes, kLong, "data")};
}
inline Tensor argsort(const Tensor &t, int64_t = -1, bool = false) { return Tensor::make(t.got().at.sizes, kLong, "data"); }
inline Tensor nonzero(const Tensor &t) { return Tensor::make({t.numel(), int64_t(t.got().at.sizes.size())}, kLong, "data"); }
inline Tensor stack(TensorList l, int64_t = 0) { auto s = l[0].got().at.sizes; s.insert(s.begin(), l.size()); return l[0].fresh(s, "data"); }
inline Tensor cat(TensorList l, int64_t k = 0) {
  auto s = l[0].got().at.sizes;
  s[l[0].wrapped(k)] = 0;
  for (const auto &t : l) s[l[0].wrapped(k)] += t.got().at.sizes[l[0].wrapped(k)];
  return l[0].fresh(s, "data");
}
}  // namespace at
