// The parts of `x.index({…})`.
#pragma once
#include "types.h"

namespace at {
using namespace c10;

class Tensor;
namespace indexing {
struct Slice {
  optional<int64_t> from, to;
  int64_t step;
  Slice(optional<int64_t> a = {}, optional<int64_t> b = {}, optional<int64_t> s = {}) : from(a), to(b), step(s.value_or(1)) {}
  Slice(nullopt_t, optional<int64_t> b = {}, optional<int64_t> s = {}) : Slice(optional<int64_t>(), b, s) {}
};
constexpr nullopt_t None = nullopt;
struct Rest {};
constexpr Rest Ellipsis;
struct TensorIndex {
  enum { kNew, kRest, kOne, kSlice, kMany } kind;
  int64_t at = 0;
  Slice slice;
  std::shared_ptr<Tensor> many;
  TensorIndex(nullopt_t) : kind(kNew) {}
  TensorIndex(Rest) : kind(kRest) {}
  TensorIndex(const char *) : kind(kRest) {}
  TensorIndex(Slice s) : kind(kSlice), slice(s) {}
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>> TensorIndex(T i) : kind(kOne), at(i) {}
  TensorIndex(const Tensor &t);
};
}  // namespace indexing
}  // namespace at
