// What PyTorch's headers declare for device code, for builds without PyTorch: its names, layouts and arithmetic.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda/std/cmath>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE __inline__ __attribute__((always_inline))
#define C10_NOINLINE __attribute__((noinline))
#define C10_RESTRICT __restrict__
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_UNROLL _Pragma("unroll")
#define C10_WARP_SIZE 32
#define C10_WARP_SIZE_UPPER_BOUND 32
#define C10_WARP_SIZE_LOWER_BOUND 32
#define C10_MAX_THREADS_PER_BLOCK(n) ((n) <= 1024 ? (n) : 256)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks) \
  ((threads) * (blocks) <= 2048 ? (blocks) : (2048 + (threads)-1) / (threads))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(n) __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(n))
#define C10_LAUNCH_BOUNDS_2(n, b) __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(n), C10_MIN_BLOCKS_PER_SM(n, b))
#define CUDA_KERNEL_ASSERT(condition) \
  do { \
    if (!(condition)) __trap(); \
  } while (0)
#define CUDA_KERNEL_ASSERT_MSG(condition, ...) CUDA_KERNEL_ASSERT(condition)
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type) \
  int64_t _i_n_d_e_x = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; \
  for (index_type i = _i_n_d_e_x; _i_n_d_e_x < (n); \
       _i_n_d_e_x += static_cast<int64_t>(blockDim.x) * gridDim.x, i = _i_n_d_e_x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#define CUDA_1D_KERNEL_LOOP(i, n) \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define CUDA_1D_KERNEL_LOOP_T(type, i, n) \
  for (type i = static_cast<type>(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); \
       i += static_cast<type>(blockDim.x) * gridDim.x)
#define GPU_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP(i, n)

namespace c10 {
// 16 bits that are a float in every operation, and rounded once after it.
#define KG_REDUCED_FLOAT(NAME, NATIVE, FROM, TO) \
  struct alignas(2) NAME { \
    unsigned short x; \
    struct from_bits_t {}; \
    __host__ __device__ static constexpr from_bits_t from_bits() { return {}; } \
    NAME() = default; \
    __host__ __device__ constexpr NAME(unsigned short bits, from_bits_t) : x(bits) {} \
    __device__ NAME(float v) : NAME(FROM(v)) {} \
    __device__ NAME(const NATIVE &v) : x(*reinterpret_cast<const unsigned short *>(&v)) {} \
    __device__ operator float() const { return TO(*reinterpret_cast<const NATIVE *>(this)); } \
    __device__ operator NATIVE() const { return *reinterpret_cast<const NATIVE *>(this); } \
  }; \
  static_assert(sizeof(NAME) == 2, "two bytes"); \
  __device__ inline NAME operator-(const NAME &a) { return -static_cast<float>(a); } \
  KG_REDUCED_OPERATOR(NAME, +) KG_REDUCED_OPERATOR(NAME, -) KG_REDUCED_OPERATOR(NAME, *) KG_REDUCED_OPERATOR(NAME, /) \
  KG_REDUCED_COMPARE(NAME, <) KG_REDUCED_COMPARE(NAME, >) KG_REDUCED_COMPARE(NAME, <=) \
  KG_REDUCED_COMPARE(NAME, >=) KG_REDUCED_COMPARE(NAME, ==) KG_REDUCED_COMPARE(NAME, !=)
#define KG_REDUCED_COMPARE(NAME, OP) \
  __device__ inline bool operator OP(const NAME &a, const NAME &b) { \
    return static_cast<float>(a) OP static_cast<float>(b); \
  }
#define KG_REDUCED_OPERATOR(NAME, OP) \
  __device__ inline NAME operator OP(const NAME &a, const NAME &b) { \
    return static_cast<float>(a) OP static_cast<float>(b); \
  } \
  __device__ inline NAME &operator OP##=(NAME &a, const NAME &b) { return a = a OP b; } \
  __device__ inline float &operator OP##=(float &a, const NAME &b) { return a = a OP static_cast<float>(b); } \
  KG_REDUCED_MIXED(NAME, OP, float, float, float) KG_REDUCED_MIXED(NAME, OP, double, double, double) \
  KG_REDUCED_MIXED(NAME, OP, int, NAME, float) KG_REDUCED_MIXED(NAME, OP, unsigned, NAME, float) \
  KG_REDUCED_MIXED(NAME, OP, long, NAME, float) KG_REDUCED_MIXED(NAME, OP, long long, NAME, float)
#define KG_REDUCED_MIXED(NAME, OP, OTHER, RESULT, IN) \
  __device__ inline RESULT operator OP(NAME a, OTHER b) { \
    return static_cast<RESULT>(static_cast<IN>(static_cast<float>(a)) OP static_cast<IN>(static_cast<RESULT>(b))); \
  } \
  __device__ inline RESULT operator OP(OTHER a, NAME b) { \
    return static_cast<RESULT>(static_cast<IN>(static_cast<RESULT>(a)) OP static_cast<IN>(static_cast<float>(b))); \
  }
KG_REDUCED_FLOAT(Half, __half, __float2half_rn, __half2float)
KG_REDUCED_FLOAT(BFloat16, __nv_bfloat16, __float2bfloat16_rn, __bfloat162float)

// 8 bits that are a float in every operation; a float that is too large for one of them is NaN, or infinite.
#define KG_FLOAT8(NAME, FORMAT) \
  struct NAME { \
    unsigned char x; \
    struct from_bits_t {}; \
    __host__ __device__ static constexpr from_bits_t from_bits() { return {}; } \
    NAME() = default; \
    __host__ __device__ constexpr NAME(unsigned char bits, from_bits_t) : x(bits) {} \
    __device__ NAME(float v) : x(__nv_cvt_float_to_fp8(v, __NV_NOSAT, FORMAT)) {} \
    __device__ operator float() const { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, FORMAT))); } \
  };
KG_FLOAT8(Float8_e4m3fn, __NV_E4M3)
KG_FLOAT8(Float8_e5m2, __NV_E5M2)

template <class T> struct alignas(2 * sizeof(T)) complex {
  using value_type = T;
  T real_ = T(0), imag_ = T(0);
  constexpr complex() = default;
  __host__ __device__ constexpr complex(T re, T im = T()) : real_(re), imag_(im) {}
  template <class U> __host__ __device__ explicit constexpr complex(const complex<U> &o)
      : real_(static_cast<T>(o.real())), imag_(static_cast<T>(o.imag())) {}
  __host__ __device__ constexpr T real() const { return real_; }
  __host__ __device__ constexpr T imag() const { return imag_; }
  __host__ __device__ constexpr void real(T v) { real_ = v; }
  __host__ __device__ constexpr void imag(T v) { imag_ = v; }
  __host__ __device__ constexpr complex &operator+=(const complex &o) { return *this = *this + o; }
  __host__ __device__ constexpr complex &operator-=(const complex &o) { return *this = *this - o; }
  __host__ __device__ constexpr complex &operator*=(const complex &o) { return *this = *this * o; }
  __host__ __device__ constexpr complex operator-() const { return {-real_, -imag_}; }
  __host__ __device__ friend constexpr complex operator+(const complex &a, const complex &b) {
    return {a.real_ + b.real_, a.imag_ + b.imag_};
  }
  __host__ __device__ friend constexpr complex operator-(const complex &a, const complex &b) {
    return {a.real_ - b.real_, a.imag_ - b.imag_};
  }
  __host__ __device__ friend constexpr complex operator*(const complex &a, const complex &b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }
  __host__ __device__ friend constexpr bool operator==(const complex &a, const complex &b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
};

template <class T> class intrusive_ptr {
  T *target_ = nullptr;

 public:
  __host__ __device__ T *operator->() const { return target_; }
  __host__ __device__ T &operator*() const { return *target_; }
  __host__ __device__ T *get() const { return target_; }
};

using ::cuda::std::nullopt, ::cuda::std::nullopt_t, ::cuda::std::optional;

template <class T> struct integer_iterator {
  T at;
  __host__ __device__ constexpr T operator*() const { return at; }
  __host__ __device__ constexpr integer_iterator &operator++() { return ++at, *this; }
  __host__ __device__ constexpr bool operator!=(const integer_iterator &o) const { return at < o.at; }
};
template <class T> struct integer_range {
  T first, last;
  __host__ __device__ constexpr integer_iterator<T> begin() const { return {first}; }
  __host__ __device__ constexpr integer_iterator<T> end() const { return {last}; }
};
template <class T> __host__ __device__ constexpr integer_range<T> irange(T end) { return {T(0), end}; }
template <class A, class B> __host__ __device__ constexpr integer_range<B> irange(A begin, B end) {
  return {static_cast<B>(begin), end};
}

namespace cuda { namespace compat {
#define KG_COMPAT_1(NAME) \
  __device__ inline float NAME(float x) { return ::NAME##f(x); } \
  __device__ inline double NAME(double x) { return ::NAME(x); }
#define KG_COMPAT_2(NAME) \
  __device__ inline float NAME(float x, float y) { return ::NAME##f(x, y); } \
  __device__ inline double NAME(double x, double y) { return ::NAME(x, y); }
KG_COMPAT_1(acos) KG_COMPAT_1(acosh) KG_COMPAT_1(asin) KG_COMPAT_1(asinh) KG_COMPAT_1(atan) KG_COMPAT_1(atanh)
KG_COMPAT_1(ceil) KG_COMPAT_1(cos) KG_COMPAT_1(cosh) KG_COMPAT_1(erf) KG_COMPAT_1(erfc) KG_COMPAT_1(erfinv)
KG_COMPAT_1(exp) KG_COMPAT_1(expm1) KG_COMPAT_1(floor) KG_COMPAT_1(lgamma) KG_COMPAT_1(log) KG_COMPAT_1(log10)
KG_COMPAT_1(log1p) KG_COMPAT_1(log2) KG_COMPAT_1(nearbyint) KG_COMPAT_1(normcdf) KG_COMPAT_1(rsqrt) KG_COMPAT_1(sin)
KG_COMPAT_1(sinh) KG_COMPAT_1(sqrt) KG_COMPAT_1(tan) KG_COMPAT_1(tanh) KG_COMPAT_1(tgamma) KG_COMPAT_1(trunc)
KG_COMPAT_2(atan2) KG_COMPAT_2(copysign) KG_COMPAT_2(fmod) KG_COMPAT_2(hypot) KG_COMPAT_2(nextafter) KG_COMPAT_2(pow)
KG_COMPAT_2(remainder)
__device__ inline float abs(float x) { return ::fabsf(x); }
__device__ inline double abs(double x) { return ::fabs(x); }
__device__ inline float max(float x, float y) { return ::fmaxf(x, y); }
__device__ inline double max(double x, double y) { return ::fmax(x, y); }
__device__ inline float min(float x, float y) { return ::fminf(x, y); }
__device__ inline double min(double x, double y) { return ::fmin(x, y); }
__device__ inline float div(float x, float y) { return x / y; }
__device__ inline double div(double x, double y) { return x / y; }
}}  // namespace cuda::compat
}  // namespace c10

namespace c10 {
template <class T> class ArrayRef;
template <class T> class List;
template <class K, class V> class Dict;
template <class T> class intrusive_ptr;
class Scalar;
class SymInt;
struct IValue;
using IntArrayRef = ArrayRef<int64_t>;
}  // namespace c10
namespace at {
using namespace c10;

// What classes of the host have as members, or name as types; device code does not touch it.
class Tensor {
  void *impl_ = nullptr;
};
class SymIntArrayRef;
class TensorOptions;
class Generator;
using TensorList = c10::ArrayRef<Tensor>;

template <class T, bool on_cuda> struct AccumulateType;
#define KG_ACCUMULATES(T, A, ON_HOST) \
  template <> struct AccumulateType<T, true> { using type = A; }; \
  template <> struct AccumulateType<T, false> { using type = ON_HOST; };
KG_ACCUMULATES(__half, float, float) KG_ACCUMULATES(Half, float, float) KG_ACCUMULATES(BFloat16, float, float)
KG_ACCUMULATES(__nv_bfloat16, float, float) KG_ACCUMULATES(float, float, double) KG_ACCUMULATES(double, double, double)
KG_ACCUMULATES(signed char, int64_t, int64_t) KG_ACCUMULATES(unsigned char, int64_t, int64_t)
KG_ACCUMULATES(char, int64_t, int64_t) KG_ACCUMULATES(short, int64_t, int64_t) KG_ACCUMULATES(int, int64_t, int64_t)
KG_ACCUMULATES(long long, int64_t, int64_t) KG_ACCUMULATES(long, int64_t, int64_t) KG_ACCUMULATES(bool, bool, bool)
KG_ACCUMULATES(complex<Half>, complex<float>, complex<float>)
KG_ACCUMULATES(complex<float>, complex<float>, complex<double>)
KG_ACCUMULATES(complex<double>, complex<double>, complex<double>)
template <class T, bool on_cuda> using acc_type = typename AccumulateType<T, on_cuda>::type;
template <class T> using acc_type_cuda = acc_type<T, true>;
template <class T> struct OpMathType { using type = T; };
template <> struct OpMathType<Half> { using type = float; };
template <> struct OpMathType<BFloat16> { using type = float; };
template <> struct OpMathType<complex<Half>> { using type = complex<float>; };
template <class T> using opmath_type = typename OpMathType<T>::type;

template <class T> __host__ __device__ constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }
template <class T> __host__ __device__ constexpr T round_up(T a, T b) { return ceil_div(a, b) * b; }
template <class T> __device__ inline bool _isnan(T v) { return ::isnan(static_cast<double>(v)); }

template <class T> struct numeric_limits {
  __device__ static T lowest() { return ::cuda::std::numeric_limits<T>::lowest(); }
  __device__ static T max() { return ::cuda::std::numeric_limits<T>::max(); }
  __device__ static T lower_bound() { return bound(-1); }
  __device__ static T upper_bound() { return bound(1); }

 private:
  __device__ static T bound(int sign) {
    using limits = ::cuda::std::numeric_limits<T>;
    if constexpr (limits::has_infinity) return sign < 0 ? -limits::infinity() : limits::infinity();
    else return sign < 0 ? limits::lowest() : limits::max();
  }
};

template <class T> struct DefaultPtrTraits { typedef T *PtrType; };
template <class T> struct RestrictPtrTraits { typedef T *__restrict__ PtrType; };
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t> class TensorAccessor {
  typename Traits<T>::PtrType data_;
  const I *sizes_, *strides_;

 public:
  __host__ __device__ TensorAccessor(typename Traits<T>::PtrType data, const I *sizes, const I *strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  __host__ __device__ I size(I i) const { return sizes_[i]; }
  __host__ __device__ I stride(I i) const { return strides_[i]; }
  __host__ __device__ typename Traits<T>::PtrType data() const { return data_; }
  __host__ __device__ decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return static_cast<T &>(data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, Traits, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
class GenericPackedTensorAccessor {
  typename Traits<T>::PtrType data_;
  I sizes_[N], strides_[N];

 public:
  __host__ __device__ I size(I i) const { return sizes_[i]; }
  __host__ __device__ I stride(I i) const { return strides_[i]; }
  __host__ __device__ typename Traits<T>::PtrType data() const { return data_; }
  __host__ __device__ decltype(auto) operator[](I i) const {
    return TensorAccessor<T, N, Traits, I>(data_, sizes_, strides_)[i];
  }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, I>;

struct PhiloxCudaState {
  union Payload {
    uint64_t val;
    int64_t *ptr;
  };
  Payload seed_{}, offset_{};
  uint32_t offset_intragraph_ = 0;
  bool captured_ = false;
};
namespace cuda {
using namespace c10::cuda;
template <class T> __host__ __device__ constexpr T ATenCeilDiv(T a, T b) { return (a + b - 1) / b; }
namespace philox {
__device__ inline ::cuda::std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState s) {
  if (!s.captured_) return {s.seed_.val, s.offset_.val};
  return {static_cast<uint64_t>(*s.seed_.ptr), static_cast<uint64_t>(*s.offset_.ptr + s.offset_intragraph_)};
}
}  // namespace philox
}  // namespace cuda
}  // namespace at

namespace cuda { namespace std {
#define KG_LIMITS(T, BITS, DIGITS, LEAST, MOST, SIGN, EPSILON, NOT_A_NUMBER, ...) \
  template <> class numeric_limits<T> : public numeric_limits<float> { \
   public: \
    static constexpr int digits = DIGITS; \
    __host__ __device__ static constexpr T of(BITS bits) { return T(bits, T::from_bits()); } \
    __host__ __device__ static constexpr T min() { return of(LEAST); } \
    __host__ __device__ static constexpr T max() { return of(MOST); } \
    __host__ __device__ static constexpr T lowest() { return of(MOST | SIGN); } \
    __host__ __device__ static constexpr T epsilon() { return of(EPSILON); } \
    __host__ __device__ static constexpr T quiet_NaN() { return of(NOT_A_NUMBER); } \
    __host__ __device__ static constexpr T denorm_min() { return of(1); } \
    __VA_ARGS__ \
  };
#define KG_INFINITY(T, BITS) __host__ __device__ static constexpr T infinity() { return of(BITS); }
KG_LIMITS(c10::Half, unsigned short, 11, 0x0400, 0x7BFF, 0x8000, 0x1400, 0x7E00, KG_INFINITY(c10::Half, 0x7C00))
KG_LIMITS(c10::BFloat16, unsigned short, 8, 0x0080, 0x7F7F, 0x8000, 0x3C00, 0x7FC0, KG_INFINITY(c10::BFloat16, 0x7F80))
KG_LIMITS(c10::Float8_e4m3fn, unsigned char, 4, 0x08, 0x7E, 0x80, 0x20, 0x7F)
KG_LIMITS(c10::Float8_e5m2, unsigned char, 3, 0x04, 0x7B, 0x80, 0x34, 0x7F)
template <class T> __host__ __device__ constexpr c10::complex<T> conj(const c10::complex<T> &a) {
  return {a.real(), -a.imag()};
}
template <class T> __host__ __device__ constexpr T norm(const c10::complex<T> &a) {
  return a.real() * a.real() + a.imag() * a.imag();
}
template <class T> __device__ inline T abs(const c10::complex<T> &a) { return ::hypot(a.real(), a.imag()); }
}}  // namespace cuda::std

template <class T> __device__ inline T WARP_SHFL(T v, int lane, int width = warpSize, unsigned mask = 0xffffffff) {
  return __shfl_sync(mask, v, lane, width);
}
template <class T> __device__ inline T WARP_SHFL_XOR(T v, int by, int width = warpSize, unsigned mask = 0xffffffff) {
  return __shfl_xor_sync(mask, v, by, width);
}
template <class T> __device__ inline T WARP_SHFL_UP(T v, unsigned by, int width = warpSize, unsigned mask = 0xffffffff) {
  return __shfl_up_sync(mask, v, by, width);
}
template <class T>
__device__ inline T WARP_SHFL_DOWN(T v, unsigned by, int width = warpSize, unsigned mask = 0xffffffff) {
  return __shfl_down_sync(mask, v, by, width);
}
__device__ inline unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffff) {
  return __ballot_sync(mask, predicate);
}
__device__ inline unsigned ACTIVE_MASK() { return __activemask(); }
__device__ inline void WARP_SYNC(unsigned mask = 0xffffffff) { __syncwarp(mask); }

// Of one and two bytes, by comparing and swapping the four bytes around them, as PyTorch does.
template <class T, class F> __device__ inline T kg_atomic(T *address, F of) {
  using Word = ::cuda::std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
  const auto place = reinterpret_cast<size_t>(address);
  Word *const word = reinterpret_cast<Word *>(place & ~(sizeof(Word) - 1));
  const unsigned shift = (place & (sizeof(Word) - 1)) * 8;
  constexpr Word all = sizeof(T) == sizeof(Word) ? ~Word(0) : (Word(1) << (8 * sizeof(T) % (8 * sizeof(Word)))) - 1;
  Word seen = *reinterpret_cast<volatile Word *>(word), assumed;
  T before;
  do {
    assumed = seen;
    const Word bits = (assumed >> shift) & all;
    memcpy(&before, &bits, sizeof(T));
    const T after = of(before);
    Word written = 0;
    memcpy(&written, &after, sizeof(T));
    seen = atomicCAS(word, assumed, (assumed & ~(all << shift)) | (written << shift));
  } while (seen != assumed);
  return before;
}
template <class T> using kg_not_deduced = typename ::cuda::std::enable_if<true, T>::type;
template <class T> __device__ inline T gpuAtomicAdd(T *address, kg_not_deduced<T> v) {
  using namespace cuda::std;
  if constexpr (is_same_v<T, bool>) return kg_atomic(address, [v](T a) { return a || v; });
  else if constexpr (is_integral_v<T> && sizeof(T) == 8)
    return atomicAdd(reinterpret_cast<unsigned long long *>(address), static_cast<unsigned long long>(v));
  else if constexpr (is_integral_v<T> && sizeof(T) < 4) return kg_atomic(address, [v](T a) { return T(a + v); });
  else return atomicAdd(address, v);
}
__device__ inline c10::Half gpuAtomicAdd(c10::Half *address, c10::Half v) {
  return atomicAdd(reinterpret_cast<__half *>(address), static_cast<__half>(v));
}
__device__ inline c10::BFloat16 gpuAtomicAdd(c10::BFloat16 *address, c10::BFloat16 v) {
  return atomicAdd(reinterpret_cast<__nv_bfloat16 *>(address), static_cast<__nv_bfloat16>(v));
}
template <class T> __device__ inline void gpuAtomicAdd(c10::complex<T> *address, c10::complex<T> v) {
  gpuAtomicAdd(&address->real_, v.real_);
  gpuAtomicAdd(&address->imag_, v.imag_);
}
template <class T> __device__ inline void gpuAtomicAddNoReturn(T *address, kg_not_deduced<T> v) { gpuAtomicAdd(address, v); }
template <class T> __device__ inline T gpuAtomicMul(T *address, kg_not_deduced<T> v) {
  return kg_atomic(address, [v](T a) { return T(a * v); });
}
template <class T> __device__ inline T gpuAtomicMax(T *address, kg_not_deduced<T> v) {
  return kg_atomic(address, [v](T a) { return a != a || a > v ? a : v; });
}
template <class T> __device__ inline T gpuAtomicMin(T *address, kg_not_deduced<T> v) {
  return kg_atomic(address, [v](T a) { return a != a || a < v ? a : v; });
}
__device__ inline c10::Half atomicAdd(c10::Half *address, c10::Half v) { return gpuAtomicAdd(address, v); }
__device__ inline c10::BFloat16 atomicAdd(c10::BFloat16 *address, c10::BFloat16 v) { return gpuAtomicAdd(address, v); }
__device__ inline long long atomicAdd(long long *address, long long v) { return gpuAtomicAdd(address, v); }
__device__ inline long atomicAdd(long *address, long v) { return gpuAtomicAdd(address, v); }
__device__ inline c10::Half __ldg(const c10::Half *p) { return __ldg(reinterpret_cast<const __half *>(p)); }
__device__ inline c10::BFloat16 __ldg(const c10::BFloat16 *p) { return __ldg(reinterpret_cast<const __nv_bfloat16 *>(p)); }

namespace at {
using ::gpuAtomicAdd, ::gpuAtomicAddNoReturn, ::gpuAtomicMax, ::gpuAtomicMin, ::gpuAtomicMul;
namespace native {
using ::gpuAtomicAdd, ::gpuAtomicAddNoReturn;
namespace memory {
template <class T, int N> struct alignas(sizeof(T) * N) aligned_vector { T val[N]; };
}  // namespace memory
namespace cuda_utils {
constexpr int kCUDABlockReduceNumThreads = 512;
constexpr int kCUDABlockReduceMaxThreads = C10_WARP_SIZE * C10_WARP_SIZE;
struct Block1D {
  static __device__ int Tid() { return threadIdx.x; }
  static __device__ int Warps() { return blockDim.x / C10_WARP_SIZE; }
};
struct Block2D {
  static __device__ int Tid() { return threadIdx.x + threadIdx.y * blockDim.x; }
  static __device__ int Warps() { return blockDim.x * blockDim.y / C10_WARP_SIZE; }
};
template <class T> __device__ inline T WarpReduceSum(T v) {
  for (int by = C10_WARP_SIZE / 2; by > 0; by /= 2) v += WARP_SHFL_DOWN(v, by);
  return v;
}
template <class T> __device__ inline T WarpReduceMax(T v) {
  for (int by = C10_WARP_SIZE / 2; by > 0; by /= 2) {
    const T other = WARP_SHFL_DOWN(v, by);
    v = v != v || v > other ? v : other;
  }
  return v;
}
template <class T, class Op> __device__ inline T WarpReduce(T v, const Op &op) {
  for (int by = C10_WARP_SIZE / 2; by > 0; by /= 2) v = op.combine(v, op.warp_shfl_down(v, by));
  return v;
}
template <class T, class B = Block1D> __device__ inline T BlockReduceSum(T v, T *shared) {
  const int lane = B::Tid() % C10_WARP_SIZE, warp = B::Tid() / C10_WARP_SIZE;
  v = WarpReduceSum(v);
  __syncthreads();
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  v = B::Tid() < B::Warps() ? shared[lane] : T(0);
  return warp == 0 ? WarpReduceSum(v) : v;
}
template <class T, class Op, class B = Block1D>
__device__ inline T BlockReduce(T v, const Op &op, const T &identity, T *shared) {
  const int lane = B::Tid() % C10_WARP_SIZE, warp = B::Tid() / C10_WARP_SIZE;
  v = WarpReduce(v, op);
  __syncthreads();
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  v = B::Tid() < B::Warps() ? shared[lane] : identity;
  return warp == 0 ? WarpReduce(v, op) : v;
}
}  // namespace cuda_utils
}  // namespace native
}  // namespace at
namespace torch {
using namespace at;
struct CustomClassHolder {};
}  // namespace torch
