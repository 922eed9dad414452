// Functions of PyTorch that make tensors.
#pragma once
#include "tensor.h"

namespace at {
#define KLINEAGE_OPERATOR(op, name)                                                                                    \
  inline Tensor operator op(const Tensor &a, const Tensor &b) { return a.name(b); }                                    \
  inline Tensor operator op(const Tensor &a, Scalar b) { return a.name(b); }                                           \
  inline Tensor operator op(Scalar b, const Tensor &a) { return a.name(b); }
KLINEAGE_OPERATOR(+, add) KLINEAGE_OPERATOR(-, sub) KLINEAGE_OPERATOR(*, mul) KLINEAGE_OPERATOR(/, div)
KLINEAGE_OPERATOR(==, eq) KLINEAGE_OPERATOR(!=, ne) KLINEAGE_OPERATOR(<, lt) KLINEAGE_OPERATOR(<=, le)
KLINEAGE_OPERATOR(>, gt) KLINEAGE_OPERATOR(>=, ge) KLINEAGE_OPERATOR(&, bitwise_and) KLINEAGE_OPERATOR(|, bitwise_or)
inline Tensor operator-(const Tensor &a) { return a.neg(); }

// A method that is a function too; those of lists take them in braces.
#define KLINEAGE_FREE(name)                                                                                            \
  template <class... A> decltype(auto) name(const Tensor &t, A &&...a) { return t.name(a...); }
#define KLINEAGE_LISTED(name)                                                                                          \
  template <class... A> Tensor name(const Tensor &t, std::initializer_list<int64_t> l, A &&...a) { return t.name(IntArrayRef(l), a...); }
KLINEAGE_OF_TWO(KLINEAGE_FREE) KLINEAGE_COMPARED(KLINEAGE_FREE) KLINEAGE_OF_ONE(KLINEAGE_FREE)
KLINEAGE_OF_ONE_ONLY(KLINEAGE_FREE) KLINEAGE_ASKED(KLINEAGE_FREE) KLINEAGE_FREE(maximum) KLINEAGE_FREE(minimum)
#define KLINEAGE_METHODS(of)                                                                                           \
  of(sum) of(mean) of(amax) of(amin) of(std) of(var) of(prod) of(logsumexp) of(any) of(all) of(argmax) of(argmin)      \
  of(count_nonzero) of(norm) of(max) of(min) of(median) of(sort) of(argsort) of(topk) of(nonzero) of(cumsum)           \
  of(cumprod) of(gather) of(index_select) of(repeat_interleave) of(split) of(split_with_sizes) of(matmul) of(mm)       \
  of(bmm) of(mv) of(dot) of(outer) of(addmm) of(baddbmm) of(addmv) of(transpose) of(permute) of(reshape) of(flatten)   \
  of(unsqueeze) of(squeeze) of(select) of(narrow) of(slice) of(chunk) of(unbind) of(t) of(numel) of(clone) of(equal)   \
  of(allclose) of(relu_) of(sigmoid_) of(tanh_) of(exp_)
KLINEAGE_METHODS(KLINEAGE_FREE)
KLINEAGE_LISTED(sum) KLINEAGE_LISTED(mean) KLINEAGE_LISTED(amax) KLINEAGE_LISTED(amin) KLINEAGE_LISTED(std)
KLINEAGE_LISTED(var) KLINEAGE_LISTED(prod) KLINEAGE_LISTED(logsumexp) KLINEAGE_LISTED(any) KLINEAGE_LISTED(all)
KLINEAGE_LISTED(permute) KLINEAGE_LISTED(reshape) KLINEAGE_LISTED(flip) KLINEAGE_LISTED(roll)
template <class T> Tensor where(const Tensor &when, const Tensor &a, const T &b) { return a.where(when, b); }
inline Tensor where(const Tensor &when, Scalar, const Tensor &b) { return b.where(when, 0); }
template <class... A> Tensor layer_norm(const Tensor &x, IntArrayRef, A &&...) { return x.clone(); }
template <class... A> Tensor rms_norm(const Tensor &x, IntArrayRef, A &&...) { return x.clone(); }
template <class... A> Tensor batch_norm(const Tensor &x, A &&...) { return x.clone(); }
template <class... A> Tensor group_norm(const Tensor &x, A &&...) { return x.clone(); }
inline Tensor linear(const Tensor &x, const Tensor &w, const optional<Tensor> &b = {}) {
  Tensor y = x.matmul(w.t());
  return b && b->defined() ? y.plus(*b) : y;
}
inline Tensor embedding(const Tensor &w, const Tensor &index) {
  auto s = index.got().at.sizes;
  s.push_back(w.size(1));
  return w.fresh(s, "data");
}
inline Tensor one_hot(const Tensor &index, int64_t n) {
  auto s = index.got().at.sizes;
  s.push_back(n);
  return index.fresh(s, "data");
}
inline Tensor bincount(const Tensor &t, const optional<Tensor> & = {}, int64_t n = 0) { return Tensor::make({std::max<int64_t>(n, 1)}, kLong, "data"); }
template <class... A> Tensor searchsorted(const Tensor &, const Tensor &v, A &&...) { return v.like(kLong); }
template <class... A> Tensor bucketize(const Tensor &v, A &&...) { return v.like(kLong); }
inline Tensor constant_pad_nd(const Tensor &t, IntArrayRef by, Scalar = 0) {
  auto s = t.got().at.sizes;
  for (size_t i = 0; i + 1 < by.size(); i += 2) s[s.size() - 1 - i / 2] += by[i] + by[i + 1];
  return t.fresh(s, "data");
}
inline Tensor pad(const Tensor &t, IntArrayRef by, const char * = "", Scalar = 0) { return constant_pad_nd(t, by); }
inline Tensor convolved(size_t rank, const Tensor &x, const Tensor &w, const optional<Tensor> &, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1) {
  Tensor::agree(x.size(1), w.size(1) * groups, "convolution");
  auto s = x.got().at.sizes;
  const auto of = [](IntArrayRef l, size_t i) { return l[std::min(i, l.size() - 1)]; };
  s[1] = w.size(0);
  for (size_t i = 0; i < rank; ++i)
    s[2 + i] = (s[2 + i] + 2 * of(padding, i) - of(dilation, i) * (w.size(2 + i) - 1) - 1) / of(stride, i) + 1;
  return x.fresh(s, "data");
}
#define KLINEAGE_CONVOLUTION(name, rank)                                                                               \
  template <class... A> Tensor name(const Tensor &x, const Tensor &w, const optional<Tensor> &b = {}, A &&...a) { return convolved(rank, x, w, b, a...); } \
  inline Tensor name(const Tensor &x, const Tensor &w, const optional<Tensor> &b, std::initializer_list<int64_t> s,   \
                     std::initializer_list<int64_t> p = {0}, std::initializer_list<int64_t> d = {1}, int64_t g = 1) { return convolved(rank, x, w, b, s, p, d, g); }
KLINEAGE_CONVOLUTION(conv1d, 1) KLINEAGE_CONVOLUTION(conv2d, 2) KLINEAGE_CONVOLUTION(conv3d, 3)
// Letters have the extents of the operands; those after the arrow are the result's.
inline Tensor einsum(std::string_view text, ArrayRef<Tensor> l) {
  std::unordered_map<char, int64_t> extents;
  size_t operand = 0, axis = 0;
  const size_t arrow = text.find("->");
  std::vector<int64_t> s;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') ++operand, axis = 0;
    else if (!isalpha(text[i])) continue;
    else if (i > arrow) s.push_back(extents[text[i]]);
    else {
      const int64_t n = l[operand].size(axis++);
      Tensor::agree(extents.emplace(text[i], n).first->second, n, "einsum");
    }
  }
  return l[0].fresh(s, "data");
}

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
inline Tensor full_like(const Tensor &t, Scalar, TensorOptions o = {}) { return t.like(o.type.value_or(t.got().type)); }
inline Tensor randint(int64_t, IntArrayRef s, TensorOptions o = {}) { return Tensor::make(s, o.type.value_or(kLong), "data"); }
inline Tensor randint(int64_t, int64_t high, IntArrayRef s, TensorOptions o = {}) { return randint(high, s, o); }
inline Tensor randperm(int64_t n, TensorOptions o = {}) { return Tensor::make({n}, o.type.value_or(kLong), "data"); }
inline Tensor eye(int64_t n, TensorOptions o = {}) { return Tensor::make({n, n}, o.dtype(), "data"); }
inline Tensor linspace(Scalar, Scalar, int64_t n, TensorOptions o = {}) { return Tensor::make({n}, o.dtype(), "data"); }
inline Tensor scalar_tensor(Scalar, TensorOptions o = {}) { return Tensor::make(IntArrayRef(), o.dtype(), "data"); }
inline Tensor empty_strided(IntArrayRef s, IntArrayRef strides, TensorOptions o = {}) {
  int64_t room = 1;
  for (size_t i = 0; i < s.size(); ++i) room += (s[i] - 1) * strides[i];
  return Tensor::make({room}, o.dtype(), "unset").as(s.vec(), strides.vec(), 0);
}
inline Tensor arange(Scalar n, TensorOptions o = {}) { return Tensor::make({n.toLong()}, o.type.value_or(kLong), "data"); }
inline Tensor arange(Scalar a, Scalar b, TensorOptions o = {}) { return arange(b.v - a.v, o); }
inline Tensor arange(Scalar a, Scalar b, Scalar step, TensorOptions o = {}) { return arange(std::ceil((b.v - a.v) / step.v), o); }
template <class T> Tensor tensor_of_values(int64_t n, TensorOptions o) {
  constexpr bool is_whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  return Tensor::make({n}, o.type.value_or(is_whole ? kLong : std::is_same_v<T, bool> ? kBool : kFloat), "data");
}
template <class T> Tensor tensor(std::initializer_list<T> v, TensorOptions o = {}) { return tensor_of_values<T>(v.size(), o); }
template <class T> Tensor tensor(const std::vector<T> &v, TensorOptions o = {}) { return tensor_of_values<T>(v.size(), o); }
template <class T> Tensor tensor(const ArrayRef<T> &v, TensorOptions o = {}) { return tensor_of_values<T>(v.size(), o); }
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Tensor tensor(T, TensorOptions o = {}) { return tensor_of_values<T>(1, o); }
inline Tensor from_blob(void *, IntArrayRef s, TensorOptions o = {}) { return Tensor::make(s, o.dtype(), "data"); }
template <class... A> Tensor sparse_coo_tensor(const Tensor &, const Tensor &values, IntArrayRef s, A &&...) { return values.fresh(s, "data"); }
template <class... A> std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor &t, A &&...) {
  return {t.clone(), Tensor::make({t.numel()}, kLong, "data"), Tensor::make({t.numel()}, kLong, "data")};
}
template <class... A> auto unique_dim(const Tensor &t, A &&...a) { return unique_consecutive(t, a...); }
template <class... A> auto _unique2(const Tensor &t, A &&...a) { return unique_consecutive(t, a...); }
inline Tensor stack(TensorList l, int64_t = 0) { auto s = l[0].got().at.sizes; s.insert(s.begin(), l.size()); return l[0].fresh(s, "data"); }
inline Tensor cat(TensorList l, int64_t k = 0) {
  auto s = l[0].got().at.sizes;
  s[l[0].wrapped(k)] = 0;
  for (const auto &t : l) s[l[0].wrapped(k)] += t.got().at.sizes[l[0].wrapped(k)];
  return l[0].fresh(s, "data");
}
inline Tensor concat(TensorList l, int64_t k = 0) { return cat(l, k); }
inline Tensor hstack(TensorList l) { return cat(l, l[0].got().at.sizes.size() > 1); }
inline Tensor vstack(TensorList l) { return cat(l, 0); }
}  // namespace at
