// Where g++ alone builds the host code: a launch sets its grid and calls its kernel, whose body tells what it is given.
#pragma once
// g++ has the mathematics of its own library, and does not take the toolkit's declarations of the same functions.
#define __MATH_FUNCTIONS_H__
#include <cmath>
#include <type_traits>
#include <typeinfo>
template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
#include <cuda_runtime.h>
// What nvcc's own front end says of a type: no lambda is a device's where g++ reads it.
#define __nv_is_extended_device_lambda_closure_type(...) false
#define __nv_is_extended_host_device_lambda_closure_type(...) false
#define __nv_is_extended_device_lambda_with_preserved_return_type(...) false
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __cluster_dims__
#define __cluster_dims__(...)
#undef __maxnreg__
#define __maxnreg__(...)
#undef __grid_constant__
#define __grid_constant__

extern "C" void klineage_launched(const char *kernel, int count, const size_t *sizes, const size_t *alignments,
                                  const char *const *types, void **arguments);
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);

namespace klineage {
template <class T> const char *type_of() { return __PRETTY_FUNCTION__; }

// By value, as a kernel has them: without what the kernel's own text says of its copies.
template <class... P> void launched(const char *kernel, P... given) {
  const size_t sizes[] = {sizeof(P)..., 0}, alignments[] = {alignof(P)..., 0};
  const char *const types[] = {type_of<P>()..., nullptr};
  void *arguments[] = {&given..., nullptr};
  klineage_launched(kernel, sizeof...(P), sizes, alignments, types, arguments);
}
inline void configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) {
  __cudaPushCallConfiguration(grid, block, shared, stream);
}
}  // namespace klineage

#define KLINEAGE_KERNEL(...)                                                                                           \
  struct klineage_kernel {};                                                                                           \
  klineage::launched(typeid(klineage_kernel).name(), ##__VA_ARGS__);
