// Streams, guards and device functions of PyTorch that extensions use.
#pragma once
#include "made.h"

struct cublasContext;
struct cublasLtContext;
namespace c10 {
inline cudaDeviceProp *klineage_device() {
  static cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  return &device;
}
namespace cuda {
struct CUDAStream {
  cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }
  int device_index() const { return 0; }
  int64_t id() const { return 0; }
  c10::Device device() const { return {}; }
  DeviceType device_type() const { return kCUDA; }
  bool query() const { return true; }
  void synchronize() const {}
};
template <class... A> CUDAStream getCurrentCUDAStream(A...) { return {}; }
template <class... A> CUDAStream getDefaultCUDAStream(A...) { return {}; }
template <class... A> CUDAStream getStreamFromPool(A...) { return {}; }
template <class... A> void setCurrentCUDAStream(A...) {}
struct CUDAGuard {
  template <class... A> CUDAGuard(A &&...) {}
  template <class... A> void set_index(A &&...) {}
  template <class... A> void set_device(A &&...) {}
};
using OptionalCUDAGuard = CUDAGuard;
using CUDAStreamGuard = CUDAGuard;
inline int device_count() { return 1; }
inline int current_device() { return 0; }
inline void device_synchronize() {}
inline void set_device(int) {}
inline int warp_size() { return 32; }
inline cudaDeviceProp *getCurrentDeviceProperties() { return klineage_device(); }
template <class... A> cudaDeviceProp *getDeviceProperties(A...) { return klineage_device(); }
inline cublasContext *getCurrentCUDABlasHandle() { return nullptr; }
inline cublasLtContext *getCurrentCUDABlasLtHandle() { return nullptr; }
template <class T> C10_HOST_DEVICE T ATenCeilDiv(T a, T b) { return (a + b - 1) / b; }
namespace CUDACachingAllocator {
inline void *raw_alloc(size_t n) { return klineage_allocate(n, "unset"); }
inline void raw_delete(void *) {}
// Memory that is given back when nobody holds it.
struct CUDAAllocator {
  std::shared_ptr<void> allocate(size_t n) { return {raw_alloc(n), raw_delete}; }
  void *raw_allocate(size_t n) { return raw_alloc(n); }
  void raw_deallocate(void *) {}
};
inline CUDAAllocator *get() {
  static CUDAAllocator only;
  return &only;
}
inline void emptyCache() {}
}  // namespace CUDACachingAllocator
}  // namespace cuda
using DeviceGuard = cuda::CUDAGuard;
using OptionalDeviceGuard = cuda::CUDAGuard;
template <class T> C10_HOST_DEVICE T ceil_div(T a, T b) { return (a + b - 1) / b; }
template <class... A> std::string str(const A &...a) { return klineage::joined(a...); }
}  // namespace c10

namespace at {
namespace cuda {
using namespace c10::cuda;
// Sorts, scans and counts over the whole device: they launch nothing of the repository's.
namespace cub {
inline int get_num_bits(uint64_t n) {
  int bits = 1;
  while (n >>= 1) ++bits;
  return bits;
}
#define KLINEAGE_CUB(name) template <class K = void, class V = void, class... A> void name(A &&...) {}
KLINEAGE_CUB(radix_sort_pairs) KLINEAGE_CUB(radix_sort_keys) KLINEAGE_CUB(segmented_sort_pairs)
KLINEAGE_CUB(inclusive_scan) KLINEAGE_CUB(exclusive_scan) KLINEAGE_CUB(inclusive_scan_by_key)
KLINEAGE_CUB(exclusive_scan_by_key) KLINEAGE_CUB(inclusive_sum_truncating) KLINEAGE_CUB(exclusive_sum)
KLINEAGE_CUB(exclusive_sum_in_common_type) KLINEAGE_CUB(inclusive_sum_by_key) KLINEAGE_CUB(unique)
KLINEAGE_CUB(run_length_encode) KLINEAGE_CUB(reduce) KLINEAGE_CUB(reduce_by_key) KLINEAGE_CUB(mask_exclusive_sum)
}  // namespace cub
}
namespace native {
using namespace c10;
}
using c10::cuda::CUDAGuard;
inline optional<Device> device_of(const Tensor &t) { return t.defined() ? optional<Device>(Device()) : nullopt; }
struct Generator {};
struct PhiloxCudaState {
  uint64_t seed_ = 1, offset_ = 0;
  bool captured_ = false;
};
struct CUDAGeneratorImpl {
  std::mutex mutex_;
  PhiloxCudaState philox_cuda_state(uint64_t) { return {}; }
};
struct Context {
  bool deterministicAlgorithms() const { return false; }
  bool allowTF32CuBLAS() const { return true; }
  bool userEnabledCuDNN() const { return false; }
};
inline Context globalContext() { return {}; }
template <class T, bool = true> struct AccumulateType { using type = std::conditional_t<sizeof(T) <= 2, float, T>; };
template <class T, bool C = true> using acc_type = typename AccumulateType<T, C>::type;
template <class T> struct OpMathType { using type = std::conditional_t<sizeof(T) <= 2, float, T>; };
template <class T> using opmath_type = typename OpMathType<T>::type;
struct NoGradGuard {};
struct AutoNonVariableTypeMode { AutoNonVariableTypeMode(bool = true) {} };
using AutoDispatchBelowADInplaceOrView = NoGradGuard;
struct ScalarTypeToTypeMeta {};
inline ScalarType promote_types(ScalarType a, ScalarType b) { return std::max(a, b); }
inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return std::max(a, b); }
}  // namespace at

#if defined(__CUDACC__)
template <class T> __device__ T WARP_SHFL(T v, int lane, int width = 32, unsigned mask = ~0u) { return __shfl_sync(mask, v, lane, width); }
template <class T> __device__ T WARP_SHFL_XOR(T v, int lane, int width = 32, unsigned mask = ~0u) { return __shfl_xor_sync(mask, v, lane, width); }
template <class T> __device__ T WARP_SHFL_UP(T v, unsigned by, int width = 32, unsigned mask = ~0u) { return __shfl_up_sync(mask, v, by, width); }
template <class T> __device__ T WARP_SHFL_DOWN(T v, unsigned by, int width = 32, unsigned mask = ~0u) { return __shfl_down_sync(mask, v, by, width); }
__device__ inline unsigned WARP_BALLOT(int p, unsigned mask = ~0u) { return __ballot_sync(mask, p); }
template <class T> __device__ T gpuAtomicAdd(T *p, T v) {
  if constexpr (sizeof(T) >= 4) return atomicAdd(p, v);
  else return v;
}
template <class T> __device__ void gpuAtomicAddNoReturn(T *p, T v) { gpuAtomicAdd(p, v); }
namespace at {
using ::gpuAtomicAdd;
using ::gpuAtomicAddNoReturn;
}
#endif

namespace torch {
using namespace at;
namespace cuda {
using namespace c10::cuda;
inline void synchronize() {}
}  // namespace cuda
namespace headeronly {
using namespace at;
}
using Dtype = ScalarType;
namespace autograd {
using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
}  // namespace autograd
namespace nn {
namespace functional {
using namespace at;
}
}
namespace jit {}
}  // namespace torch
namespace caffe2 {
using namespace at;
}
