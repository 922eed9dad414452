// Functions that Python would call, called with tensors and numbers that lines of text describe.
//
// A line is `TAG <tab> ENTRY <tab> ARGUMENT;ARGUMENT;…`. An argument is `T:TYPE:EXTENT,EXTENT:NAME:INNER` for a tensor
// (INNER is the extent whose elements lie side by side, where that is not the last one), `-` for an optional one that is
// left out, `[COUNT` before the elements of a list, or a number or a word.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include "classes.h"
#include "dispatch.h"

namespace klineage {
struct Given {
  std::vector<std::string> parts;
  size_t at = 0;
  std::string next() { return at < parts.size() ? parts[at++] : ""; }
  bool left_out() { return at < parts.size() && parts[at] == "-" ? (++at, true) : false; }
};
inline std::vector<std::string> split(const std::string &text, char by) {
  std::vector<std::string> parts;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}
constexpr int64_t kMostFilled = 1 << 20;
template <class F> void fill(at::Tensor &t, F value) {
  int64_t n = 1;
  for (int64_t s : t.got().at.sizes) n *= s;
  for (int64_t i = 0; i < std::min(n, kMostFilled); ++i) value(i);
}
inline at::Tensor tensor_of(const std::string &text) {
  auto parts = split(text, ':');
  std::vector<int64_t> sizes;
  for (auto &one : split(parts.at(2), ',')) sizes.push_back(std::stoll(one));
  auto type = static_cast<at::ScalarType>(std::stoi(parts.at(1)));
  auto t = at::Tensor::make(sizes, type, "data", parts.at(3));
  if (parts.size() > 4) {
    const size_t inner = std::stoul(parts[4]);
    auto &at = t.impl->at;
    for (size_t k = sizes.size(), step = sizes.at(inner); k--;)
      if (k == inner) at.strides[k] = 1;
      else at.strides[k] = step, step *= std::max<int64_t>(sizes[k], 1);
  }
  // What the host may ask an element of: offsets that rise, as lengths and starts of rows do.
  if (type == at::kInt) fill(t, [p = static_cast<int *>(t.raw())](int64_t i) { p[i] = int(i); });
  if (type == at::kLong) fill(t, [p = static_cast<int64_t *>(t.raw())](int64_t i) { p[i] = i; });
  return t;
}
template <class T> struct Argument {
  static std::string kind() {
    if constexpr (std::is_same_v<T, bool>) return "b";
    else if constexpr (std::is_integral_v<T>) return "i";
    else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, at::Scalar>) return "f";
    else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) return "s";
    else if constexpr (std::is_same_v<T, at::ScalarType>) return "t";
    else return "?";
  }
  static T from(Given &given) {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(std::stod(given.next()));
    else if constexpr (std::is_same_v<T, at::Scalar>) return at::Scalar(std::stod(given.next()));
    else if constexpr (std::is_same_v<T, std::string>) return given.next();
    else if constexpr (std::is_same_v<T, std::string_view>) return *new std::string(given.next());
    else if constexpr (std::is_same_v<T, at::ScalarType>) return static_cast<at::ScalarType>(std::stoi(given.next()));
    else if constexpr (std::is_default_constructible_v<T>) return T();
    else fail("error", "an argument of a type that cannot be made", "");
  }
};
template <> struct Argument<at::Tensor> {
  static std::string kind() { return "T"; }
  static at::Tensor from(Given &given) { return given.left_out() ? at::Tensor() : tensor_of(given.next()); }
};
template <class T> struct Argument<std::optional<T>> {
  static std::string kind() { return "o" + Argument<T>::kind(); }
  static std::optional<T> from(Given &given) {
    if (given.left_out()) return std::nullopt;
    return Argument<T>::from(given);
  }
};
template <class T> struct Argument<std::vector<T>> {
  static std::string kind() { return "v" + Argument<T>::kind(); }
  static std::vector<T> from(Given &given) {
    std::vector<T> all;
    for (int n = std::stoi(given.next().substr(1)); n-- > 0;) all.push_back(Argument<T>::from(given));
    return all;
  }
};
template <class T> struct Argument<at::ArrayRef<T>> {
  static std::string kind() { return "v" + Argument<T>::kind(); }
  static at::ArrayRef<T> from(Given &given) { return Argument<std::vector<T>>::from(given); }
};
// A pointer to an object is that of one which stays.
template <class T> struct Argument<T *> {
  static std::string kind() { return Argument<std::remove_const_t<T>>::kind(); }
  static T *from(Given &given) {
    if (given.left_out()) return nullptr;
    return new std::remove_const_t<T>(Argument<std::remove_const_t<T>>::from(given));
  }
};
template <> struct Argument<void *> {
  static std::string kind() { return "?"; }
  static void *from(Given &) { return nullptr; }
};

struct Entry {
  std::string name, kinds;
  std::function<void(Given &)> call;
};
inline std::vector<Entry> &entries() {
  static std::vector<Entry> all;
  return all;
}
template <class R, class... A> bool entry(const char *name, R (*function)(A...)) {
  std::string kinds;
  ((kinds += (kinds.empty() ? "" : " ") + Argument<std::decay_t<A>>::kind()), ...);
  entries().push_back({name, kinds, [function](Given &given) {
                         std::tuple<std::decay_t<A>...> all{Argument<std::decay_t<A>>::from(given)...};
                         std::apply([&](auto &...one) { function(static_cast<A>(one)...); }, all);
                       }});
  return true;
}
template <class F> bool entry(const char *name, F function) {
  if constexpr (std::is_class_v<F>) return entry(name, +function);
  else return false;
}
inline int listen() {
  setvbuf(stdout, nullptr, _IONBF, 0);
  for (size_t i = 0; i < entries().size(); ++i) printf("entry\t%zu\t%s\t%s\n", i, entries()[i].name.c_str(), entries()[i].kinds.c_str());
  for (std::string line; std::getline(std::cin, line);) {
    auto parts = split(line, '\t');
    if (parts.size() < 3) continue;
    pid_t child = fork();
    if (child == 0) {
      alarm(3);
      klineage_call((current_call() = parts[0]).c_str());
      try {
        Given given{split(parts[2], ';')};
        entries().at(std::stoi(parts[1])).call(given);
        printf("%s\tdone\t%s\n", parts[0].c_str(), all_asked().c_str());
      } catch (std::exception &error) {
        printf("%s\t%s\n", parts[0].c_str(), error.what());
      }
      klineage_end();
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("%s\tsignal\t%d\n", parts[0].c_str(), WTERMSIG(status));
  }
  return 0;
}
// What registers functions: names, documentation and keyword arguments do not matter.
struct Module {
  template <class F, class... A> Module &def(const char *name, F function, A &&...) { return entry(name, function), *this; }
  Module &def(const char *) { return *this; }
  template <class F> Module &impl(const char *name, F function) { return entry(name, function), *this; }
  template <class F> Module &impl(const char *name, at::DeviceType, F function) { return entry(name, function), *this; }
  template <class... A> Module &attr(A &&...) { return *this; }
  template <class T, class... A> torch::class_<T> class_(A &&...) { return {}; }
  std::string &doc() { static std::string text; return text; }
};
}  // namespace klineage

namespace pybind11 {
struct arg {
  arg(const char *) {}
  template <class T> arg &operator=(T &&) { return *this; }
  arg &noconvert(bool = true) { return *this; }
  arg &none(bool = true) { return *this; }
};
struct object {
  bool is_none() const { return true; }
};
using none = object;
struct module_local {
  module_local(bool = true) {}
};
struct gil_scoped_release {};
struct gil_scoped_acquire {};
template <class... A> struct call_guard {};
template <class T> struct enum_ : torch::class_<T> {
  template <class... A> enum_(A &&...) {}
  template <class... A> enum_ &value(A &&...) { return *this; }
  enum_ &export_values() { return *this; }
};
template <class T, class... A> using class_ = torch::class_<T>;
template <class... A> torch::init_of<A...> init() { return {}; }
using module = klineage::Module;
using module_ = klineage::Module;
namespace literals {
inline arg operator""_a(const char *name, size_t) { return arg(name); }
}
}  // namespace pybind11
namespace py = pybind11;
namespace torch {
using pybind11::arg;
using Library = klineage::Module;
}
#define KLINEAGE_JOINED2(a, b) a##b
#define KLINEAGE_JOINED(a, b) KLINEAGE_JOINED2(a, b)
#define KLINEAGE_MODULE(m, id)                                                                                         \
  static void KLINEAGE_JOINED(klineage_fill, id)(klineage::Module & m);                                                \
  static bool KLINEAGE_JOINED(klineage_filled, id) = [] {                                                              \
    static klineage::Module all;                                                                                       \
    return KLINEAGE_JOINED(klineage_fill, id)(all), true;                                                              \
  }();                                                                                                                 \
  static void KLINEAGE_JOINED(klineage_fill, id)(klineage::Module & m)
#define PYBIND11_MODULE(name, m, ...) KLINEAGE_MODULE(m, __COUNTER__)
#define TORCH_LIBRARY(name, m) KLINEAGE_MODULE(m, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(name, m) KLINEAGE_MODULE(m, __COUNTER__)
#define TORCH_LIBRARY_IMPL(name, key, m) KLINEAGE_MODULE(m, __COUNTER__)
#define TORCH_FN(f) (&f)
#define TORCH_BOX(f) (f)
