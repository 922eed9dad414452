// Checks that tell what they compared, and which tensors were asked for it: that is how a call is mended.
#pragma once
#include <unistd.h>

#include "types.h"

namespace klineage {
struct Asked {
  std::string tensor, what;
  int64_t index;
};
// What tensors were asked until now, in the order of their last question.
inline std::vector<Asked> &asked() {
  static std::vector<Asked> all;
  return all;
}
inline void ask(const std::string &tensor, const char *what, int64_t index = 0) {
  if (tensor.empty()) return;
  auto &all = asked();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].tensor == tensor && all[i].index == index && all[i].what == what) {
      all.erase(all.begin() + i);
      break;
    }
  all.push_back({tensor, what, index});
}
inline std::string clean(std::string text) {
  for (char &c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text.substr(0, 600);
}
struct Compared {
  std::string left, op, right, condition;
};
inline Compared &compared() {
  static Compared last;
  return last;
}
template <class T, class = void> struct Shown {
  static std::string text(const T &) { return "?"; }
};
template <class T> std::string shown(const T &v) { return Shown<T>::text(v); }
template <class T> using Printed = decltype(std::declval<std::ostream &>() << std::declval<const T &>());
template <class T> struct Shown<T, std::void_t<Printed<T>>> {
  static std::string text(const T &v) {
    std::ostringstream out;
    out << v;
    return out.str();
  }
};
// A list that nothing prints, such as a vector of extents that a tensor's are compared with.
template <class T, class = void> struct is_listed : std::false_type {};
template <class T> struct is_listed<T, std::void_t<decltype(std::declval<const T &>().begin(), std::declval<const T &>().end()), typename T::value_type>> : std::true_type {};
template <class T, class = void> struct is_printed : std::false_type {};
template <class T> struct is_printed<T, std::void_t<Printed<T>>> : std::true_type {};
template <class T> struct Shown<T, std::enable_if_t<std::is_enum_v<T> && !is_printed<T>::value>> {
  static std::string text(const T &v) { return std::to_string(static_cast<int64_t>(v)); }
};
template <class T> struct Shown<T, std::enable_if_t<is_listed<T>::value && !is_printed<T>::value>> {
  static std::string text(const T &v) {
    std::string all;
    for (const auto &one : v) all += (all.empty() ? "" : ",") + shown<std::decay_t<decltype(one)>>(one);
    return all;
  }
};
// `Left() << a == b` is `(Left() << a) == b`: both sides are seen before they are compared.
template <class L> struct Side {
  const L &value;
#define KLINEAGE_COMPARE(op)                                                                                           \
  template <class R> bool operator op(const R &right) const {                                                          \
    bool holds = value op right;                                                                                       \
    if (!holds) compared() = {shown<L>(value), #op, shown<R>(right)};                                      \
    return holds;                                                                                                      \
  }
  KLINEAGE_COMPARE(==) KLINEAGE_COMPARE(!=) KLINEAGE_COMPARE(<=) KLINEAGE_COMPARE(>=) KLINEAGE_COMPARE(<) KLINEAGE_COMPARE(>)
#undef KLINEAGE_COMPARE
  explicit operator bool() const { return static_cast<bool>(value); }
};
struct Left {
  template <class T> Side<T> operator<<(const T &v) const { return {v}; }
};
inline bool &in_check() {
  static bool now = false;
  return now;
}
inline void begin_check() { compared() = {}, in_check() = true; }
inline bool end_check(bool holds) { return in_check() = false, holds; }
// One condition of several that all have to hold; which one does not is told.
inline bool part(const char *condition, bool holds) {
  if (!holds) compared().condition = condition;
  return holds;
}
}  // namespace klineage

namespace c10 {
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  std::string msg() const { return what(); }
};
using IndexError = Error;
using ValueError = Error;
}  // namespace c10

namespace klineage {
inline std::string all_asked() {
  std::string all;
  for (const Asked &a : asked()) all += a.tensor + "," + a.what + "," + std::to_string(a.index) + " ";
  return all;
}
template <class... A> std::string joined(const A &...parts) {
  std::string all;
  ((all += shown<A>(parts)), ...);
  return all;
}
[[noreturn]] inline void fail(const char *kind, const std::string &condition, const std::string &message) {
  std::string line = std::string(kind) + "\t" + clean(condition) + "\t" + clean(compared().left) + "\t" + compared().op +
                     "\t" + clean(compared().right) + "\t" + clean(message) + "\t" + all_asked();
  throw c10::Error(line);
}
// The call that is made now, by its place among all.
inline std::string &current_call() {
  static std::string tag;
  return tag;
}
constexpr int kMostFailed = 16;
// A check of the code that does not hold is told, and the code goes on: what fails after it is told as well, so that
// one call shows all that is wrong with it. Where nothing comes after a check, it ends the call.
inline void failed(const char *condition, const std::string &message) {
  static int count = 0;
  const std::string text = compared().condition.empty() ? condition : compared().condition;
  try {
    fail("check", text, message);
  } catch (c10::Error &error) {
    if (text == "false" || text == "0" || ++count == kMostFailed || current_call().empty()) throw;
    printf("%s\t%s\n", current_call().c_str(), error.what());
  }
  alarm(1);
  compared() = {};
}
}  // namespace klineage

inline void c10::klineage_outside(size_t size, size_t index) {
  klineage::compared() = {std::to_string(size), ">=", std::to_string(index + 1)};
  klineage::fail("check", "rank", "");
}

#define KLINEAGE_PART(...) klineage::part(#__VA_ARGS__, static_cast<bool>(klineage::Left() << __VA_ARGS__))
// As PyTorch's, it needs no semicolon.
#define TORCH_CHECK(condition, ...)                                                                                    \
  if (klineage::begin_check(); !klineage::end_check(static_cast<bool>(klineage::Left() << condition))) { \
    klineage::failed(#condition, klineage::joined(__VA_ARGS__) + " " #__VA_ARGS__);                                    \
  }
#define TORCH_CHECK_WITH(type, condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_ARG(condition, n, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define STD_TORCH_CHECK TORCH_CHECK
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK(a == b)
#define TORCH_CHECK_NE(a, b) TORCH_CHECK(a != b)
#define TORCH_CHECK_GE(a, b) TORCH_CHECK(a >= b)
#define TORCH_CHECK_GT(a, b) TORCH_CHECK(a > b)
#define TORCH_CHECK_LE(a, b) TORCH_CHECK(a <= b)
#define TORCH_CHECK_LT(a, b) TORCH_CHECK(a < b)
#define AT_ERROR(...) TORCH_CHECK(false, ##__VA_ARGS__)
#define TORCH_WARN(...) ((void)0)
#define TORCH_WARN_ONCE(...) ((void)0)
#define C10_CUDA_CHECK(e) TORCH_CHECK((e) == cudaSuccess)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define STD_CUDA_CHECK C10_CUDA_CHECK
#define THCudaCheck C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
#define STD_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
#define C10_CUDA_ERROR_HANDLED(e) (e)
#define C10_CUDA_IGNORE_ERROR(e) (void)(e)
#define C10_CUDA_CHECK_WARN(e) (void)(e)
#define C10_CUDA_CLEAR_ERROR() ((void)0)
#define TORCH_CUDABLAS_CHECK(e) (void)(e)
