// Tensors without values: extents, strides, a type, and memory of the recorded device.
#pragma once
#include "accessors.h"
#include "checks.h"
#include "indexing.h"

namespace c10 {
struct SizesAndStrides {
  std::vector<int64_t> sizes, strides;
};
inline std::vector<int64_t> contiguous_strides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t k = sizes.size(); k--;) strides[k] = step, step *= std::max<int64_t>(sizes[k], 1);
  return strides;
}
struct Stored {
  void *data;
  size_t bytes;
};
struct TensorImpl {
  std::string name;
  SizesAndStrides at;
  int64_t offset = 0;
  ScalarType type = kFloat;
  std::shared_ptr<Stored> stored;
};
}  // namespace c10

namespace at {
using namespace c10;

struct TypeMeta {
  ScalarType type;
  operator ScalarType() const { return type; }
  ScalarType toScalarType() const { return type; }
  size_t itemsize() const { return elementSize(type); }
  friend bool operator==(TypeMeta a, ScalarType b) { return a.type == b; }
  friend bool operator==(ScalarType a, TypeMeta b) { return a == b.type; }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type == b.type; }
  friend bool operator!=(TypeMeta a, ScalarType b) { return a.type != b; }
  friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type != b.type; }
  friend std::ostream &operator<<(std::ostream &out, TypeMeta t) { return out << t.type; }
};
struct DeprecatedTypeProperties {
  ScalarType type;
  ScalarType scalarType() const { return type; }
  bool is_cuda() const { return true; }
  operator TensorOptions() const { return TensorOptions(type); }
  operator ScalarType() const { return type; }
};
struct Storage {
  std::shared_ptr<Stored> stored;
  void *data() const { return stored->data; }
  size_t nbytes() const { return stored->bytes; }
};

class Tensor {
 public:
  std::shared_ptr<TensorImpl> impl;
  using V = std::vector<int64_t>;

  Tensor() = default;
  static Tensor make(IntArrayRef sizes, ScalarType type, const char *how, const std::string &name = "") {
    Tensor t;
    t.impl = std::make_shared<TensorImpl>();
    t.impl->name = name;
    t.impl->at = {sizes.vec(), contiguous_strides(sizes.vec())};
    t.impl->type = type;
    int64_t count = 1;
    for (int64_t n : sizes) {
      if (n < 0) klineage::fail("error", "an extent is negative", "");
      count *= n;
    }
    size_t bytes = count * elementSize(type);
    void *data = klineage_allocate(bytes, how);
    if (!data) klineage::fail("error", "a tensor is too large", "");
    t.impl->stored = std::shared_ptr<Stored>(new Stored{data, bytes});
    const auto &at = t.impl->at;
    klineage_describe(data, name.c_str(), klineage_dtype(type), how, int(at.sizes.size()),
                      reinterpret_cast<const long *>(at.sizes.data()), reinterpret_cast<const long *>(at.strides.data()));
    return t;
  }
  Tensor as(V sizes, V strides, int64_t offset) const {
    Tensor t;
    t.impl = std::make_shared<TensorImpl>(got());
    t.impl->at = {std::move(sizes), std::move(strides)};
    t.impl->offset = offset;
    return t;
  }
  Tensor fresh(IntArrayRef sizes, const char *how = "unset") const { return make(sizes, got().type, how); }
  const TensorImpl &got() const {
    if (!impl) klineage::fail("error", "an undefined tensor is used", "");
    return *impl;
  }
  int64_t wrapped(int64_t i, int64_t more = 0) const {
    int64_t rank = int64_t(got().at.sizes.size()) + more, k = i < 0 ? i + rank : i;
    if (k < 0 || k >= rank) {
      klineage::ask(got().name, "dim");
      klineage::compared() = {std::to_string(rank), ">=", std::to_string(i < 0 ? -i : i + 1)};
      klineage::fail("check", "rank", "");
    }
    return k;
  }

  bool defined() const { return impl != nullptr; }
  explicit operator bool() const { return defined(); }
  bool has_storage() const { return defined(); }
  bool is_same(const Tensor &o) const { return impl == o.impl; }
  int64_t dim() const { return klineage::ask(got().name, "dim"), got().at.sizes.size(); }
  int64_t ndimension() const { return dim(); }
  int64_t size(int64_t i) const {
    int64_t k = wrapped(i);
    return klineage::ask(got().name, "size", k), got().at.sizes[k];
  }
  int64_t stride(int64_t i) const {
    int64_t k = wrapped(i);
    return klineage::ask(got().name, "stride", k), got().at.strides[k];
  }
  IntArrayRef sizes() const {
    if (klineage::in_check()) klineage::ask(got().name, "shape");
    return klineage::ask(got().name, "sizes"), IntArrayRef(got().at.sizes);
  }
  IntArrayRef strides() const { return klineage::ask(got().name, "strides"), IntArrayRef(got().at.strides); }
  int64_t sym_size(int64_t i) const { return size(i); }
  int64_t numel() const {
    klineage::ask(got().name, "numel");
    int64_t n = 1;
    for (int64_t s : got().at.sizes) n *= s;
    return n;
  }
  size_t nbytes() const { return numel() * element_size(); }
  int64_t element_size() const { return elementSize(got().type); }
  int64_t itemsize() const { return element_size(); }
  int64_t storage_offset() const { return got().offset; }
  Storage storage() const { return {got().stored}; }
  ScalarType scalar_type() const { return klineage::ask(got().name, "type"), got().type; }
  TypeMeta dtype() const { return {scalar_type()}; }
  DeprecatedTypeProperties type() const { return {scalar_type()}; }
  TensorOptions options() const { return TensorOptions(got().type); }
  Device device() const { return {}; }
  DeviceIndex get_device() const { return 0; }
  Layout layout() const { return kStrided; }
  bool is_cuda() const { return true; }
  bool is_cpu() const { return false; }
  bool is_sparse() const { return false; }
  bool is_xpu() const { return false; }
  bool is_mps() const { return false; }
  bool is_meta() const { return false; }
  bool is_privateuseone() const { return false; }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_complex() const { return isComplexType(scalar_type()); }
  bool requires_grad() const { return false; }
  Tensor &requires_grad_(bool = true) { return *this; }
  Tensor set_requires_grad(bool) const { return *this; }
  Tensor detach() const { return *this; }
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const {
    klineage::ask(got().name, "contiguous");
    int64_t step = 1;
    for (size_t k = got().at.sizes.size(); k--;) {
      if (got().at.sizes[k] != 1 && got().at.strides[k] != step) return false;
      step *= got().at.sizes[k];
    }
    return true;
  }
  bool is_non_overlapping_and_dense() const { return is_contiguous(); }
  MemoryFormat suggest_memory_format() const { return MemoryFormat::Contiguous; }
  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const { return is_contiguous() ? *this : fresh(got().at.sizes, "data"); }

  void *raw() const { return static_cast<char *>(got().stored->data) + got().offset * elementSize(got().type); }
  void *data_ptr() const { return raw(); }
  const void *const_data_ptr() const { return raw(); }
  void *mutable_data_ptr() const { return raw(); }
  template <class T> T *data_ptr() const { return typed<T>(); }
  template <class T> T *data() const { return typed<T>(); }
  template <class T> const T *const_data_ptr() const { return typed<std::remove_const_t<T>>(); }
  template <class T> T *mutable_data_ptr() const { return typed<T>(); }
  template <class T> T *typed() const {
    typedef std::remove_const_t<T> Plain;
    if (CppTypeToScalarType<Plain>::value != got().type) {
      klineage::ask(got().name, "type");
      klineage::compared() = {klineage_dtype(got().type), "==", klineage_dtype(CppTypeToScalarType<Plain>::value)};
      klineage::fail("check", "expected scalar type", "");
    }
    return static_cast<T *>(raw());
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
  PackedTensorAccessor<T, N, P, I> packed_accessor() const {
    if (got().at.sizes.size() != N) {
      klineage::ask(got().name, "dim");
      klineage::compared() = {std::to_string(got().at.sizes.size()), "==", std::to_string(N)};
      klineage::fail("check", "rank of the accessor", "");
    }
    klineage::ask(got().name, "accessor");
    return {typed<T>(), got().at.sizes.data(), got().at.strides.data()};
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits> auto packed_accessor32() const { return packed_accessor<T, N, P, int32_t>(); }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits> auto packed_accessor64() const { return packed_accessor<T, N, P, int64_t>(); }
  template <class T, size_t N> TensorAccessor<T, N> accessor() const {
    auto p = packed_accessor<T, N>();
    return {p.data(), got().at.sizes.data(), got().at.strides.data()};
  }
  // A value of the host's: the one that was put there; memory of a buffer that nobody wrote is 0.
  template <class T> T item() const { return got().type == kLong ? T(*static_cast<int64_t *>(raw())) : got().type == kInt ? T(*static_cast<int *>(raw())) : T(0); }
  Scalar item() const { return Scalar(item<double>()); }

  Tensor view(IntArrayRef wanted) const {
    V sizes = wanted.vec();
    int64_t known = 1, open = -1, all = numel();
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i] < 0 ? void(open = i) : void(known *= sizes[i]);
    if (open >= 0) sizes[open] = known ? all / known : 0, known *= sizes[open];
    if (known != all) {
      klineage::compared() = {std::to_string(all), "==", std::to_string(known)};
      klineage::fail("check", "view", "");
    }
    return as(sizes, contiguous_strides(sizes), got().offset);
  }
  Tensor view(ScalarType t) const { Tensor r = as(got().at.sizes, got().at.strides, got().offset); r.impl->type = t; return r; }
  Tensor reshape(IntArrayRef sizes) const { return contiguous().view(sizes); }
  Tensor reshape_as(const Tensor &o) const { return reshape(o.got().at.sizes); }
  Tensor view_as(const Tensor &o) const { return view(o.got().at.sizes); }
  Tensor flatten(int64_t from = 0, int64_t to = -1) const {
    V sizes;
    from = wrapped(from), to = wrapped(to);
    for (int64_t k = 0; k < int64_t(got().at.sizes.size()); ++k)
      if (k > from && k <= to) sizes.back() *= got().at.sizes[k]; else sizes.push_back(got().at.sizes[k]);
    return reshape(sizes);
  }
  Tensor permute(IntArrayRef order) const {
    V sizes, strides;
    for (int64_t k : order) sizes.push_back(got().at.sizes[wrapped(k)]), strides.push_back(got().at.strides[wrapped(k)]);
    return as(sizes, strides, got().offset);
  }
  Tensor transpose(int64_t a, int64_t b) const {
    V sizes = got().at.sizes, strides = got().at.strides;
    a = wrapped(a), b = wrapped(b);
    std::swap(sizes[a], sizes[b]), std::swap(strides[a], strides[b]);
    return as(sizes, strides, got().offset);
  }
  Tensor t() const { return got().at.sizes.size() < 2 ? *this : transpose(0, 1); }
  Tensor unsqueeze(int64_t k) const {
    V sizes = got().at.sizes, strides = got().at.strides;
    k = wrapped(k, 1);
    sizes.insert(sizes.begin() + k, 1), strides.insert(strides.begin() + k, 1);
    return as(sizes, strides, got().offset);
  }
  Tensor squeeze(int64_t k) const {
    V sizes = got().at.sizes, strides = got().at.strides;
    k = wrapped(k);
    if (sizes[k] == 1) sizes.erase(sizes.begin() + k), strides.erase(strides.begin() + k);
    return as(sizes, strides, got().offset);
  }
  Tensor squeeze() const { Tensor r = *this; for (int64_t k = got().at.sizes.size(); k--;) r = r.squeeze(k); return r; }
  Tensor select(int64_t k, int64_t j) const {
    V sizes = got().at.sizes, strides = got().at.strides;
    k = wrapped(k);
    int64_t offset = got().offset + j * strides[k];
    sizes.erase(sizes.begin() + k), strides.erase(strides.begin() + k);
    return as(sizes, strides, offset);
  }
  Tensor operator[](int64_t j) const { return select(0, j); }
  Tensor narrow(int64_t k, int64_t from, int64_t n) const {
    V sizes = got().at.sizes;
    k = wrapped(k);
    sizes[k] = n;
    return as(sizes, got().at.strides, got().offset + from * got().at.strides[k]);
  }
  Tensor slice(int64_t k = 0, optional<int64_t> a = {}, optional<int64_t> b = {}, int64_t step = 1) const {
    int64_t n = got().at.sizes[wrapped(k)], from = a.value_or(0), to = std::min(b.value_or(n), n);
    from += from < 0 ? n : 0, to += to < 0 ? n : 0;
    return narrow(k, from, std::max<int64_t>(0, (to - from + step - 1) / step));
  }
  // What is indexed by a list of numbers has as many rows as they are.
  Tensor index(std::initializer_list<indexing::TensorIndex> parts) const {
    using indexing::TensorIndex;
    int64_t k = 0, taken = 0;
    for (const auto &p : parts) taken += p.kind != TensorIndex::kNew && p.kind != TensorIndex::kRest;
    Tensor now = *this;
    for (const auto &p : parts) switch (p.kind) {
        case TensorIndex::kNew: now = now.unsqueeze(k++); break;
        case TensorIndex::kRest: k += int64_t(got().at.sizes.size()) - taken; break;
        case TensorIndex::kOne: now = now.select(k, p.at < 0 ? p.at + now.size(k) : p.at); break;
        case TensorIndex::kSlice: now = now.slice(k++, p.slice.from, p.slice.to, p.slice.step); break;
        case TensorIndex::kMany: {
          V sizes = now.got().at.sizes;
          sizes[now.wrapped(k)] = p.many->numel();
          now = now.fresh(sizes, "data");
          ++k;
        }
      }
    return now;
  }
  std::vector<Tensor> chunk(int64_t n, int64_t k = 0) const {
    int64_t each = (got().at.sizes[wrapped(k)] + n - 1) / n;
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < n; ++i) parts.push_back(narrow(k, i * each, each));
    return parts;
  }
  std::vector<Tensor> unbind(int64_t k = 0) const {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < got().at.sizes[wrapped(k)]; ++i) parts.push_back(select(k, i));
    return parts;
  }
  Tensor expand(IntArrayRef sizes) const {
    V own = got().at.sizes, steps = got().at.strides, wanted = sizes.vec(), strides(wanted.size(), 0);
    for (size_t i = 0; i < wanted.size() && i < own.size(); ++i) {
      size_t to = wanted.size() - 1 - i, from = own.size() - 1 - i;
      if (wanted[to] < 0) wanted[to] = own[from];
      strides[to] = own[from] == 1 ? 0 : steps[from];
    }
    return as(wanted, strides, got().offset);
  }
  Tensor expand_as(const Tensor &o) const { return expand(o.got().at.sizes); }

  Tensor to(ScalarType t, bool = false, bool = false) const { return t == got().type ? *this : make(got().at.sizes, t, "data"); }
  Tensor half() const { return to(kHalf); }
  Tensor bfloat16() const { return to(kBFloat16); }
  Tensor to(TensorOptions o, bool = false, bool = false) const { return o.type ? to(*o.type) : *this; }
  Tensor to(Device, ScalarType t, bool = false, bool = false) const { return to(t); }
  Tensor to(Device, bool = false, bool = false) const { return *this; }
  Tensor to(DeviceType, bool = false, bool = false) const { return *this; }
  Tensor toType(ScalarType t) const { return to(t); }
  Tensor to_type(ScalarType t) const { return to(t); }
  Tensor type_as(const Tensor &o) const { return to(o.got().type); }
  Tensor cuda() const { return *this; }
  Tensor cpu() const { return *this; }
  Tensor clone() const { return fresh(got().at.sizes, "data"); }
  Tensor clone(MemoryFormat) const { return clone(); }
  const Tensor &copy_(const Tensor &, bool = false) const { return *this; }
  const Tensor &zero_() const { return filled("cleared"); }
  const Tensor &fill_(Scalar v) const { return filled(v.v == 0 ? "cleared" : "data"); }
  const Tensor &filled(const char *how) const {
    klineage_describe(got().stored->data, got().name.c_str(), klineage_dtype(got().type), how, int(got().at.sizes.size()),
                      reinterpret_cast<const long *>(got().at.sizes.data()),
                      reinterpret_cast<const long *>(got().at.strides.data()));
    return *this;
  }
  const Tensor &resize_(IntArrayRef sizes) const { *const_cast<Tensor *>(this) = fresh(sizes); return *this; }
  Tensor new_empty(IntArrayRef s, TensorOptions o = {}) const { return make(s, o.type.value_or(got().type), "unset"); }
  Tensor new_zeros(IntArrayRef s, TensorOptions o = {}) const { return make(s, o.type.value_or(got().type), "cleared"); }
  Tensor new_ones(IntArrayRef s, TensorOptions o = {}) const { return make(s, o.type.value_or(got().type), "data"); }

  Tensor reduced(IntArrayRef ks, bool keep, ScalarType t) const {
    V sizes = got().at.sizes;
    for (int64_t k : ks) sizes[wrapped(k)] = -1;
    if (!ks.size()) sizes.clear();
    for (size_t k = sizes.size(); k--;)
      if (sizes[k] == -1) keep ? void(sizes[k] = 1) : void(sizes.erase(sizes.begin() + k));
    return make(sizes, t, "data");
  }
#define KLINEAGE_REDUCED(name, type)                                                                                   \
  Tensor name() const { return reduced(IntArrayRef(), false, type); }                                           \
  Tensor name(int64_t k, bool keep = false) const { return reduced(k, keep, type); }                                  \
  Tensor name(IntArrayRef k, bool keep = false, optional<ScalarType> t = {}) const { return reduced(k, keep, t.value_or(type)); }
  KLINEAGE_REDUCED(sum, got().type) KLINEAGE_REDUCED(mean, got().type) KLINEAGE_REDUCED(amax, got().type)
  KLINEAGE_REDUCED(amin, got().type) KLINEAGE_REDUCED(std, got().type) KLINEAGE_REDUCED(var, got().type)
  KLINEAGE_REDUCED(prod, got().type) KLINEAGE_REDUCED(logsumexp, got().type) KLINEAGE_REDUCED(any, kBool)
  KLINEAGE_REDUCED(all, kBool) KLINEAGE_REDUCED(argmax, kLong) KLINEAGE_REDUCED(argmin, kLong)
  KLINEAGE_REDUCED(count_nonzero, kLong)
  Tensor norm() const { return sum(); }
  Tensor norm(Scalar, IntArrayRef k, bool keep = false) const { return sum(k, keep); }
  using Pair = std::tuple<Tensor, Tensor>;
#define KLINEAGE_WITH_PLACES(name)                                                                                     \
  Tensor name() const { return sum(); }                                                                                \
  Pair name(int64_t k, bool keep = false) const { return {sum(k, keep), argmax(k, keep)}; }                            \
  Tensor name(const Tensor &o) const { return over(o); }
  KLINEAGE_WITH_PLACES(max) KLINEAGE_WITH_PLACES(min) KLINEAGE_WITH_PLACES(median)
  Tensor like(ScalarType t) const { return make(got().at.sizes, t, "data"); }
  Pair sort(int64_t = -1, bool = false) const { return {clone(), like(kLong)}; }
  Tensor argsort(int64_t = -1, bool = false) const { return like(kLong); }
  Pair topk(int64_t n, int64_t k = -1, bool = true, bool = true) const {
    V sizes = got().at.sizes;
    sizes[wrapped(k)] = n;
    return {fresh(sizes, "data"), make(sizes, kLong, "data")};
  }
  Tensor nonzero() const { return make({numel(), int64_t(got().at.sizes.size())}, kLong, "data"); }
  Tensor cumsum(int64_t, optional<ScalarType> t = {}) const { return like(t.value_or(got().type)); }
  Tensor cumprod(int64_t, optional<ScalarType> t = {}) const { return like(t.value_or(got().type)); }
  Tensor gather(int64_t, const Tensor &index, bool = false) const { return fresh(index.got().at.sizes, "data"); }
  Tensor index_select(int64_t k, const Tensor &index) const { return resized(k, index.numel()); }
  Tensor repeat_interleave(int64_t n, optional<int64_t> k = {}) const {
    return k ? resized(*k, n * got().at.sizes[wrapped(*k)]) : fresh({n * numel()}, "data");
  }
  Tensor repeat_interleave(const Tensor &, optional<int64_t> = {}) const { return clone(); }
  Tensor resized(int64_t k, int64_t n) const {
    V sizes = got().at.sizes;
    sizes[wrapped(k)] = n;
    return fresh(sizes, "data");
  }
  Tensor repeat(IntArrayRef times) const {
    V sizes = times.vec(), own = got().at.sizes;
    for (size_t i = 0; i < own.size(); ++i) sizes[sizes.size() - own.size() + i] *= own[i];
    return fresh(sizes, "data");
  }
  std::vector<Tensor> split(int64_t each, int64_t k = 0) const {
    std::vector<Tensor> parts;
    const int64_t n = got().at.sizes[wrapped(k)];
    for (int64_t i = 0; i < n; i += each) parts.push_back(narrow(k, i, std::min(each, n - i)));
    return parts;
  }
  std::vector<Tensor> split(IntArrayRef lengths, int64_t k = 0) const {
    std::vector<Tensor> parts;
    int64_t from = 0;
    for (int64_t n : lengths) parts.push_back(narrow(k, from, n)), from += n;
    return parts;
  }
  std::vector<Tensor> split_with_sizes(IntArrayRef lengths, int64_t k = 0) const { return split(lengths, k); }
  // What two extents have to agree in is a check, as PyTorch's own is.
  static void agree(int64_t a, int64_t b, const char *where) {
    if (a == b) return;
    klineage::compared() = {std::to_string(a), "==", std::to_string(b)};
    klineage::fail("check", where, "");
  }
  Tensor matmul(const Tensor &o) const {
    const V &theirs = o.got().at.sizes;
    agree(size(-1), o.size(theirs.size() > 1 ? -2 : -1), "matmul");
    const bool is_vector = got().at.sizes.size() == 1;
    V sizes = is_vector ? V(theirs.begin(), theirs.end() - 1) : got().at.sizes;
    if (is_vector || theirs.size() == 1) sizes.pop_back();
    if (!is_vector && theirs.size() > got().at.sizes.size()) sizes.insert(sizes.begin(), theirs.begin(), theirs.end() - sizes.size());
    if (theirs.size() > 1) is_vector ? sizes.push_back(theirs.back()) : void(sizes.back() = theirs.back());
    return fresh(sizes, "data");
  }
  Tensor mm(const Tensor &o) const { return matmul(o); }
  Tensor bmm(const Tensor &o) const { return matmul(o); }
  Tensor mv(const Tensor &o) const { return matmul(o); }
  Tensor dot(const Tensor &o) const { return matmul(o); }
  Tensor outer(const Tensor &o) const { return fresh({numel(), o.numel()}, "data"); }
  // A sum and a product of two others: the last extent of what is added is the product's, or 1.
  template <class... A> Tensor addmm(const Tensor &a, const Tensor &b, A &&...) const { return a.matmul(b).plus(*this); }
  template <class... A> Tensor baddbmm(const Tensor &a, const Tensor &b, A &&...) const { return a.matmul(b).plus(*this); }
  template <class... A> Tensor addmv(const Tensor &a, const Tensor &b, A &&...) const { return a.matmul(b).plus(*this); }
  Tensor plus(const Tensor &o) const {
    if (o.size(-1) != 1) agree(o.size(-1), got().at.sizes.back(), "addmm");
    return *this;
  }
// Functions of each element, as methods: the result is as wide as all tensors together, in its place it is the tensor itself.
  static void widen(V &sizes, ScalarType &type, const Tensor &t) {
    const TensorImpl &o = t.got();
    if (o.at.sizes.size() > sizes.size()) sizes.insert(sizes.begin(), o.at.sizes.size() - sizes.size(), 1);
    for (size_t i = 1; i <= o.at.sizes.size(); ++i)
      if (sizes[sizes.size() - i] == 1) sizes[sizes.size() - i] = o.at.sizes[o.at.sizes.size() - i];
    if (o.at.sizes.size() && isFloatingType(o.type) >= isFloatingType(type) &&
        (isFloatingType(o.type) > isFloatingType(type) || elementSize(o.type) > elementSize(type)))
      type = o.type;
  }
  template <class A> static void widen(V &, ScalarType &, const A &) {}
  template <class... A> Tensor over(A &&...a) const {
    V sizes = got().at.sizes;
    ScalarType type = got().type;
    (widen(sizes, type, a), ...);
    return make(sizes, type, "data");
  }
#define KLINEAGE_SAME(name) template <class... A> Tensor name(A &&...) const { return clone(); }
#define KLINEAGE_WIDE(name) template <class... A> Tensor name(A &&...a) const { return over(a...); }
#define KLINEAGE_TRUTH(name) template <class... A> Tensor name(A &&...a) const { return over(a...).like(kBool); }
#define KLINEAGE_IN_PLACE(name) template <class... A> const Tensor &name(A &&...) const { return *this; }
#define KLINEAGE_OF_TWO(of)                                                                                            \
  of(add) of(sub) of(mul) of(div) of(pow) of(floor_divide) of(remainder) of(fmod) of(bitwise_and) of(bitwise_or)       \
  of(addcmul) of(addcdiv) of(lerp) of(subtract) of(multiply) of(divide) of(true_divide) of(atan2) of(bitwise_xor)      \
  of(bitwise_left_shift) of(bitwise_right_shift) of(clamp) of(clamp_min) of(clamp_max) of(copysign)
#define KLINEAGE_COMPARED(of)                                                                                          \
  of(eq) of(ne) of(lt) of(le) of(gt) of(ge) of(logical_and) of(logical_or) of(logical_not) of(logical_xor)
#define KLINEAGE_OF_ONE(of)                                                                                            \
  of(neg) of(exp) of(sqrt) of(rsqrt) of(abs) of(log) of(sigmoid) of(relu) of(tanh) of(masked_fill) of(floor) of(ceil)  \
  of(round) of(trunc) of(sign) of(sin) of(cos) of(tan) of(erf) of(erfc) of(log2) of(log10) of(log1p) of(expm1)         \
  of(exp2) of(square) of(reciprocal) of(nan_to_num) of(scatter) of(scatter_add) of(index_put) of(index_add)            \
  of(index_fill) of(index_copy) of(tril) of(triu) of(silu) of(leaky_relu) of(elu) of(selu) of(hardtanh) of(sinh)       \
  of(cosh) of(asin) of(acos) of(atan) of(frac) of(bitwise_not) of(negative) of(absolute) of(scatter_reduce)
#define KLINEAGE_OF_ONE_ONLY(of)                                                                                       \
  of(softmax) of(log_softmax) of(flip) of(roll) of(gelu) of(softplus) of(mish) of(hardswish) of(hardsigmoid) of(dropout)
#define KLINEAGE_ASKED(of) of(isnan) of(isfinite) of(isinf)
  KLINEAGE_OF_TWO(KLINEAGE_WIDE) KLINEAGE_COMPARED(KLINEAGE_TRUTH) KLINEAGE_ASKED(KLINEAGE_TRUTH)
  KLINEAGE_OF_ONE(KLINEAGE_SAME) KLINEAGE_OF_ONE_ONLY(KLINEAGE_SAME) KLINEAGE_WIDE(maximum) KLINEAGE_WIDE(minimum)
#define KLINEAGE_PLACE(name) KLINEAGE_IN_PLACE(name##_)
  KLINEAGE_OF_TWO(KLINEAGE_PLACE) KLINEAGE_COMPARED(KLINEAGE_PLACE) KLINEAGE_OF_ONE(KLINEAGE_PLACE)
  template <class... A> const Tensor &index_put_(std::initializer_list<indexing::TensorIndex>, A &&...) const { return *this; }
  KLINEAGE_IN_PLACE(record_stream) KLINEAGE_IN_PLACE(uniform_) KLINEAGE_IN_PLACE(normal_) KLINEAGE_IN_PLACE(random_)
  KLINEAGE_IN_PLACE(fill_diagonal_) KLINEAGE_IN_PLACE(bernoulli_) KLINEAGE_IN_PLACE(addmm_) KLINEAGE_IN_PLACE(exponential_)
  template <class T> Tensor where(const Tensor &when, const T &o) const { return over(when, o); }
  bool equal(const Tensor &) const { return true; }
  template <class... A> bool allclose(const Tensor &, A &&...) const { return true; }
};
using TensorList = ArrayRef<Tensor>;
inline indexing::TensorIndex::TensorIndex(const Tensor &t) : kind(kMany), many(std::make_shared<Tensor>(t)) {}
}  // namespace at
