// Element types, lists, devices and options with PyTorch's names.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recorder.h"

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE inline
#define C10_LAUNCH_BOUNDS_1(a) __launch_bounds__(a)
#define C10_LAUNCH_BOUNDS_2(a, b) __launch_bounds__(a, b)
#define C10_RESTRICT __restrict__
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD
#define C10_LIKELY(x) (x)
#define C10_UNLIKELY(x) (x)
#define C10_WARP_SIZE 32
#define C10_UNROLL _Pragma("unroll")
#define TORCH_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define C10_EXPORT
#define CUDA_VERSION_OF_STANDIN 13000
#ifndef TORCH_VERSION_MAJOR
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 8
#define TORCH_VERSION_PATCH 0
#endif

namespace c10 {
// As PyTorch has it: 16 bits that turn into a float and back.
struct alignas(2) Half {
  unsigned short x;
  Half() = default;
  C10_HOST_DEVICE Half(float v) { __half h = __float2half(v); memcpy(&x, &h, 2); }
  C10_HOST_DEVICE Half(const __half &h) { memcpy(&x, &h, 2); }
  C10_HOST_DEVICE operator float() const { return __half2float(as_cuda()); }
  C10_HOST_DEVICE operator __half() const { return as_cuda(); }
  C10_HOST_DEVICE __half as_cuda() const { __half h; memcpy(&h, &x, 2); return h; }
  C10_HOST_DEVICE Half &operator+=(float v) { return *this = Half(float(*this) + v); }
  C10_HOST_DEVICE Half &operator-=(float v) { return *this = Half(float(*this) - v); }
  C10_HOST_DEVICE Half &operator*=(float v) { return *this = Half(float(*this) * v); }
  C10_HOST_DEVICE Half &operator/=(float v) { return *this = Half(float(*this) / v); }
};
struct alignas(2) BFloat16 {
  unsigned short x;
  BFloat16() = default;
  C10_HOST_DEVICE BFloat16(float v) { __nv_bfloat16 h = __float2bfloat16(v); memcpy(&x, &h, 2); }
  C10_HOST_DEVICE BFloat16(const __nv_bfloat16 &h) { memcpy(&x, &h, 2); }
  C10_HOST_DEVICE operator float() const { return __bfloat162float(as_cuda()); }
  C10_HOST_DEVICE operator __nv_bfloat16() const { return as_cuda(); }
  C10_HOST_DEVICE __nv_bfloat16 as_cuda() const { __nv_bfloat16 h; memcpy(&h, &x, 2); return h; }
  C10_HOST_DEVICE BFloat16 &operator+=(float v) { return *this = BFloat16(float(*this) + v); }
  C10_HOST_DEVICE BFloat16 &operator-=(float v) { return *this = BFloat16(float(*this) - v); }
  C10_HOST_DEVICE BFloat16 &operator*=(float v) { return *this = BFloat16(float(*this) * v); }
  C10_HOST_DEVICE BFloat16 &operator/=(float v) { return *this = BFloat16(float(*this) / v); }
};
struct Float8_e4m3fn {
  unsigned char x;
  Float8_e4m3fn() = default;
  C10_HOST_DEVICE Float8_e4m3fn(float v) { __nv_fp8_e4m3 h(v); memcpy(&x, &h, 1); }
  C10_HOST_DEVICE operator float() const { __nv_fp8_e4m3 h; memcpy(&h, &x, 1); return float(h); }
};
struct Float8_e5m2 {
  unsigned char x;
  Float8_e5m2() = default;
  C10_HOST_DEVICE Float8_e5m2(float v) { __nv_fp8_e5m2 h(v); memcpy(&x, &h, 1); }
  C10_HOST_DEVICE operator float() const { __nv_fp8_e5m2 h; memcpy(&h, &x, 1); return float(h); }
};
template <class T> struct alignas(2 * sizeof(T)) complex {
  using value_type = T;
  T real_, imag_;
  C10_HOST_DEVICE constexpr complex(T r = T(), T i = T()) : real_(r), imag_(i) {}
  C10_HOST_DEVICE constexpr T real() const { return real_; }
  C10_HOST_DEVICE constexpr T imag() const { return imag_; }
  C10_HOST_DEVICE complex &operator+=(const complex &o) { real_ += o.real_, imag_ += o.imag_; return *this; }
  C10_HOST_DEVICE complex &operator*=(const complex &o) { return *this = *this * o; }
  friend C10_HOST_DEVICE complex operator+(const complex &a, const complex &b) { return {a.real_ + b.real_, a.imag_ + b.imag_}; }
  friend C10_HOST_DEVICE complex operator-(const complex &a, const complex &b) { return {a.real_ - b.real_, a.imag_ - b.imag_}; }
  friend C10_HOST_DEVICE complex operator*(const complex &a, const complex &b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }
};

enum class ScalarType : int8_t {
  Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool, QInt8, QUInt8,
  QInt32, BFloat16, Float8_e5m2 = 23, Float8_e4m3fn = 24, UInt16 = 27, UInt32 = 28, UInt64 = 29, Undefined = 99
};
inline size_t elementSize(ScalarType t) {
  switch (t) {
    case ScalarType::Byte: case ScalarType::Char: case ScalarType::Bool: case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn: case ScalarType::QInt8: case ScalarType::QUInt8: return 1;
    case ScalarType::Short: case ScalarType::Half: case ScalarType::BFloat16: case ScalarType::UInt16: return 2;
    case ScalarType::Long: case ScalarType::Double: case ScalarType::ComplexFloat: case ScalarType::UInt64: return 8;
    case ScalarType::ComplexDouble: return 16;
    default: return 4;
  }
}
// As workloads call it; "" for a type that they have not.
inline const char *klineage_dtype(ScalarType t) {
  switch (t) {
    case ScalarType::Byte: return "uint8";
    case ScalarType::Char: return "int8";
    case ScalarType::Short: return "int16";
    case ScalarType::Int: return "int32";
    case ScalarType::Long: return "int64";
    case ScalarType::Half: return "float16";
    case ScalarType::Float: return "float32";
    case ScalarType::Double: return "float64";
    case ScalarType::Bool: return "bool";
    case ScalarType::BFloat16: return "bfloat16";
    case ScalarType::Float8_e5m2: return "float8_e5m2";
    case ScalarType::Float8_e4m3fn: return "float8_e4m3fn";
    case ScalarType::UInt16: return "uint16";
    case ScalarType::UInt32: return "uint32";
    case ScalarType::UInt64: return "uint64";
    default: return "";
  }
}
inline const char *toString(ScalarType t) { return klineage_dtype(t); }
inline std::ostream &operator<<(std::ostream &out, ScalarType t) { return out << klineage_dtype(t); }
inline bool isFloatingType(ScalarType t) {
  return t == ScalarType::Half || t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::BFloat16 ||
         t == ScalarType::Float8_e5m2 || t == ScalarType::Float8_e4m3fn;
}
inline bool isIntegralType(ScalarType t, bool with_bool = false) {
  return t <= ScalarType::Long || (with_bool && t == ScalarType::Bool);
}
inline bool isComplexType(ScalarType t) { return t >= ScalarType::ComplexHalf && t <= ScalarType::ComplexDouble; }
inline bool isReducedFloatingType(ScalarType t) { return t == ScalarType::Half || t == ScalarType::BFloat16; }

template <class T> struct CppTypeToScalarType;
template <ScalarType N> struct ScalarTypeToCPPType;
#define KLINEAGE_TYPE(C, N)                                                                                            \
  template <> struct CppTypeToScalarType<C> { static constexpr ScalarType value = ScalarType::N; };                    \
  template <> struct ScalarTypeToCPPType<ScalarType::N> { using type = C; };
KLINEAGE_TYPE(uint8_t, Byte) KLINEAGE_TYPE(int8_t, Char) KLINEAGE_TYPE(int16_t, Short) KLINEAGE_TYPE(int, Int)
KLINEAGE_TYPE(int64_t, Long) KLINEAGE_TYPE(Half, Half) KLINEAGE_TYPE(float, Float) KLINEAGE_TYPE(double, Double)
KLINEAGE_TYPE(bool, Bool) KLINEAGE_TYPE(BFloat16, BFloat16) KLINEAGE_TYPE(Float8_e4m3fn, Float8_e4m3fn)
KLINEAGE_TYPE(Float8_e5m2, Float8_e5m2) KLINEAGE_TYPE(complex<float>, ComplexFloat)
KLINEAGE_TYPE(complex<double>, ComplexDouble) KLINEAGE_TYPE(uint16_t, UInt16) KLINEAGE_TYPE(uint32_t, UInt32)
KLINEAGE_TYPE(uint64_t, UInt64)
template <ScalarType N> using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;

#define KLINEAGE_K(N) constexpr ScalarType k##N = ScalarType::N;
KLINEAGE_K(Byte) KLINEAGE_K(Char) KLINEAGE_K(Short) KLINEAGE_K(Int) KLINEAGE_K(Long) KLINEAGE_K(Half) KLINEAGE_K(Float)
KLINEAGE_K(Double) KLINEAGE_K(Bool) KLINEAGE_K(BFloat16) KLINEAGE_K(Float8_e4m3fn) KLINEAGE_K(Float8_e5m2)
KLINEAGE_K(ComplexFloat) KLINEAGE_K(ComplexDouble) KLINEAGE_K(UInt16) KLINEAGE_K(UInt32) KLINEAGE_K(UInt64)
constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong, kFloat16 = kHalf,
                     kFloat32 = kFloat, kFloat64 = kDouble;

// A list is asked for more than it has: of a tensor's sizes, it has too few.
[[noreturn]] void klineage_outside(size_t size, size_t index);
template <class T> class ArrayRef {
  std::vector<T> kept_;

 public:
  using value_type = T;
  ArrayRef() = default;
  ArrayRef(std::initializer_list<T> v) : kept_(v) {}
  ArrayRef(const std::vector<T> &v) : kept_(v) {}
  ArrayRef(const T *p, size_t n) : kept_(p, p + n) {}
  ArrayRef(const T &one) : kept_{one} {}
  template <size_t N> ArrayRef(const std::array<T, N> &v) : kept_(v.begin(), v.end()) {}
  size_t size() const { return kept_.size(); }
  bool empty() const { return kept_.empty(); }
  const T &operator[](size_t i) const {
    if (i >= kept_.size()) klineage_outside(kept_.size(), i);
    return kept_[i];
  }
  const T &at(size_t i) const { return (*this)[i]; }
  const T &front() const { return kept_.front(); }
  const T &back() const { return kept_.back(); }
  const T *data() const { return kept_.data(); }
  auto begin() const { return kept_.begin(); }
  auto end() const { return kept_.end(); }
  std::vector<T> vec() const { return kept_; }
  ArrayRef slice(size_t from) const { return ArrayRef(kept_.data() + from, kept_.size() - from); }
  ArrayRef slice(size_t from, size_t n) const { return ArrayRef(kept_.data() + from, n); }
  bool equals(const ArrayRef &o) const { return kept_ == o.kept_; }
  friend bool operator==(const ArrayRef &a, const ArrayRef &b) { return a.kept_ == b.kept_; }
  friend bool operator!=(const ArrayRef &a, const ArrayRef &b) { return a.kept_ != b.kept_; }
  friend std::ostream &operator<<(std::ostream &out, const ArrayRef &a) {
    for (const T &one : a.kept_) out << (&one == a.kept_.data() ? "" : ",") << one;
    return out;
  }
};
using IntArrayRef = ArrayRef<int64_t>;
template <class T, unsigned N = 6> struct SmallVector : std::vector<T> {
  using std::vector<T>::vector;
  SmallVector() = default;
  SmallVector(const ArrayRef<T> &of) : std::vector<T>(of.begin(), of.end()) {}
  template <class I> void append(I from, I to) { this->insert(this->end(), from, to); }
  void append(size_t n, const T &value) { this->insert(this->end(), n, value); }
  void append(std::initializer_list<T> more) { this->insert(this->end(), more); }
  void append(const ArrayRef<T> &more) { append(more.begin(), more.end()); }
  T pop_back_val() {
    T last = this->back();
    return this->pop_back(), last;
  }
};
using DimVector = SmallVector<int64_t>;
using SymInt = int64_t;

using std::optional, std::nullopt, std::make_optional, std::nullopt_t, std::string_view;
template <class T> using OptionalArrayRef = optional<ArrayRef<T>>;

enum class DeviceType : int8_t { CPU, CUDA };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;
struct Device {
  DeviceType kind = kCUDA;
  DeviceIndex number = 0;
  Device() = default;
  Device(DeviceType t, DeviceIndex i = 0) : kind(t), number(i) {}
  Device(const char *) {}
  Device(const std::string &) {}
  DeviceType type() const { return kind; }
  DeviceIndex index() const { return number; }
  bool is_cuda() const { return kind == kCUDA; }
  bool is_cpu() const { return kind == kCPU; }
  bool has_index() const { return true; }
  std::string str() const { return "cuda:0"; }
  bool operator==(const Device &o) const { return kind == o.kind; }
  bool operator!=(const Device &o) const { return kind != o.kind; }
  friend std::ostream &operator<<(std::ostream &out, const Device &) { return out << "cuda:0"; }
};
enum class Layout { Strided };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
struct TensorOptions {
  optional<ScalarType> type;
  Device place;
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type(t) {}
  TensorOptions(Device d) : place(d) {}
  TensorOptions(DeviceType d) : place(d) {}
  TensorOptions dtype(optional<ScalarType> t) const { auto o = *this; o.type = t; return o; }
  TensorOptions device(Device d) const { auto o = *this; o.place = d; return o; }
  TensorOptions device(DeviceType d, int = 0) const { return device(Device(d)); }
  TensorOptions layout(Layout) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }
  TensorOptions pinned_memory(bool) const { return *this; }
  TensorOptions memory_format(MemoryFormat) const { return *this; }
  ScalarType dtype() const { return type.value_or(kFloat); }
  Device device() const { return place; }
};
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions requires_grad(bool) { return {}; }
struct Scalar {
  double v;
  Scalar() : v(0) {}
  template <class T, class = std::enable_if_t<std::is_convertible_v<T, double>>> Scalar(T x) : v(static_cast<double>(x)) {}
  template <class T> T to() const { return static_cast<T>(v); }
  double toDouble() const { return v; }
  float toFloat() const { return static_cast<float>(v); }
  int64_t toLong() const { return static_cast<int64_t>(v); }
};
}  // namespace c10

namespace std {
template <> struct numeric_limits<c10::Half> : numeric_limits<float> {
  static C10_HOST_DEVICE c10::Half lowest() { return c10::Half(-65504.f); }
  static C10_HOST_DEVICE c10::Half max() { return c10::Half(65504.f); }
  static C10_HOST_DEVICE c10::Half min() { return c10::Half(6.1e-5f); }
  static C10_HOST_DEVICE c10::Half infinity() { return c10::Half(1.f / 0.f); }
};
template <> struct numeric_limits<c10::BFloat16> : numeric_limits<float> {
  static C10_HOST_DEVICE c10::BFloat16 lowest() { return c10::BFloat16(-3.38e38f); }
  static C10_HOST_DEVICE c10::BFloat16 max() { return c10::BFloat16(3.38e38f); }
  static C10_HOST_DEVICE c10::BFloat16 min() { return c10::BFloat16(1.2e-38f); }
  static C10_HOST_DEVICE c10::BFloat16 infinity() { return c10::BFloat16(1.f / 0.f); }
};
}  // namespace std
