// What tests of Catch2 and doctest are written with. All sections of a test are run, one after the other.
#pragma once
#include <cmath>
#include "../tests.h"
namespace Catch {
class Approx {
 public:
  explicit Approx(double value) : value_(value) {}
  Approx &epsilon(double) { return *this; }
  Approx &margin(double) { return *this; }
  Approx &scale(double) { return *this; }
  template <class T> friend bool operator==(const T &one, const Approx &other) { return double(one) == other.value_; }
  template <class T> friend bool operator==(const Approx &other, const T &one) { return double(one) == other.value_; }
  template <class T> friend bool operator!=(const T &one, const Approx &other) { return double(one) != other.value_; }

 private:
  double value_;
};
namespace Matchers {
template <class... T> int WithinAbs(T...) { return 0; }
template <class... T> int WithinRel(T...) { return 0; }
template <class... T> int WithinULP(T...) { return 0; }
}  // namespace Matchers
}  // namespace Catch
namespace doctest = Catch;
#define KLINEAGE_CASE(name) \
  static void name(); \
  static ::klineage::Test KLINEAGE_JOINED(name, _run)(&name); \
  static void name()
#define TEST_CASE(...) KLINEAGE_CASE(KLINEAGE_JOINED(klineage_case_, __LINE__))
#define SCENARIO(...) KLINEAGE_CASE(KLINEAGE_JOINED(klineage_case_, __LINE__))
#define SECTION(...) if (true)
#define SUBCASE(...) if (true)
#define GIVEN(...) if (true)
#define WHEN(...) if (true)
#define THEN(...) if (true)
#define GENERATE(...) ::klineage::last_of(__VA_ARGS__)
#define CHECK(...) ((void)(__VA_ARGS__))
#define CHECK_FALSE(...) ((void)(__VA_ARGS__))
#define REQUIRE(...) ((void)(__VA_ARGS__))
#define REQUIRE_FALSE(...) ((void)(__VA_ARGS__))
#define REQUIRE_THAT(value, ...) ((void)(value))
#define CHECK_THAT(value, ...) ((void)(value))
#define REQUIRE_THROWS(...) KLINEAGE_TRIED(__VA_ARGS__)
#define REQUIRE_THROWS_AS(statement, ...) KLINEAGE_TRIED(statement)
#define REQUIRE_NOTHROW(...) KLINEAGE_TRIED(__VA_ARGS__)
#define CHECK_THROWS_AS(statement, ...) KLINEAGE_TRIED(statement)
#define INFO(...) ((void)0)
#define CAPTURE(...) ((void)0)
