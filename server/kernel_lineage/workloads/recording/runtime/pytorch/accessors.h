// A tensor's elements by their indices, as kernels take them.
#pragma once
#include "types.h"

namespace at {
using namespace c10;

template <class T> struct RestrictPtrTraits { using PtrType = T *__restrict__; };
template <class T> struct DefaultPtrTraits { using PtrType = T *; };
template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t> class TensorAccessor {
 public:
  using PtrType = typename P<T>::PtrType;
  C10_HOST_DEVICE TensorAccessor(PtrType d, const I *s, const I *t) : data_(d), sizes_(s), strides_(t) {}
  C10_HOST_DEVICE I size(I i) const { return sizes_[i]; }
  C10_HOST_DEVICE I stride(I i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  C10_HOST_DEVICE decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return (data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, P, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 protected:
  PtrType data_;
  const I *sizes_, *strides_;
};
template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t> class PackedTensorAccessor {
 public:
  using PtrType = typename P<T>::PtrType;
  C10_HOST PackedTensorAccessor(PtrType d, const int64_t *s, const int64_t *t) : data_(d) {
    for (size_t k = 0; k < N; ++k) sizes_[k] = I(s[k]), strides_[k] = I(t[k]);
  }
  C10_HOST_DEVICE I size(I i) const { return sizes_[i]; }
  C10_HOST_DEVICE I stride(I i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  C10_HOST_DEVICE decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return (data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, P, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 protected:
  PtrType data_;
  I sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, P, int32_t>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, P, int64_t>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
using GenericPackedTensorAccessor = PackedTensorAccessor<T, N, P, I>;
}  // namespace at
