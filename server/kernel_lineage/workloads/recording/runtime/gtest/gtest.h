// What tests of GoogleTest are written with.
#pragma once
#include "../tests.h"
namespace testing {
class Test {
 public:
  virtual ~Test() = default;
  virtual void SetUp() {}
  virtual void TearDown() {}
  virtual void TestBody() = 0;
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}
  static void SetUpTestCase() {}
  static void TearDownTestCase() {}
  static bool HasFailure() { return false; }
  static bool HasFatalFailure() { return false; }
};
template <class T> class WithParamInterface {
 public:
  using ParamType = T;
  virtual ~WithParamInterface() = default;
  static const T *&klineage_parameter() {
    static const T *parameter = nullptr;
    return parameter;
  }
  static const T &GetParam() { return *klineage_parameter(); }
};
template <class T> class TestWithParam : public Test, public WithParamInterface<T> {};
template <class T> struct TestParamInfo {
  T param;
  size_t index;
};
template <class... T> struct Types {};
template <class... T> class ValueArray {
 public:
  explicit ValueArray(T... values) : values_(std::move(values)...) {}
  template <class Wanted> operator std::vector<Wanted>() const {
    return listed<Wanted>(std::index_sequence_for<T...>());
  }

 private:
  template <class Wanted, size_t... I> std::vector<Wanted> listed(std::index_sequence<I...>) const {
    return {static_cast<Wanted>(std::get<I>(values_))...};
  }
  std::tuple<T...> values_;
};
template <class... T> ValueArray<T...> Values(T... values) { return ValueArray<T...>(std::move(values)...); }
template <class T> std::vector<typename T::value_type> ValuesIn(const T &values) { return {values.begin(), values.end()}; }
template <class T, size_t N> std::vector<T> ValuesIn(const T (&values)[N]) { return {values, values + N}; }
template <class T> std::vector<T> ValuesIn(std::initializer_list<T> values) { return values; }
template <class T, class Step = T> std::vector<T> Range(T begin, T end, Step step = 1) {
  std::vector<T> values;
  for (T value = begin; value < end; value = static_cast<T>(value + step)) values.push_back(value);
  return values;
}
inline std::vector<bool> Bool() { return {false, true}; }
// Each value of a list with each of the others, as a tuple; the last list is gone through first.
template <class... Lists> class Combined {
 public:
  explicit Combined(Lists... lists) : lists_(std::move(lists)...) {}
  template <class... T> operator std::vector<std::tuple<T...>>() const {
    return all<T...>(std::index_sequence_for<T...>());
  }

 private:
  template <class T, class List> static std::vector<T> of(const List &list) { return list; }
  template <class... T, size_t... I> std::vector<std::tuple<T...>> all(std::index_sequence<I...>) const {
    const std::tuple<std::vector<T>...> each(of<T>(std::get<I>(lists_))...);
    const size_t sizes[] = {std::get<I>(each).size()...};
    size_t count = 1;
    for (size_t size : sizes) count *= size;
    std::vector<std::tuple<T...>> tuples;
    for (size_t n = 0; n < count; ++n) {
      size_t at[sizeof...(T)], rest = n;
      for (size_t i = sizeof...(T); i-- > 0; rest /= sizes[i]) at[i] = rest % sizes[i];
      tuples.emplace_back(std::get<I>(each)[at[I]]...);
    }
    return tuples;
  }
  std::tuple<Lists...> lists_;
};
template <class... Lists> Combined<Lists...> Combine(Lists... lists) { return Combined<Lists...>(std::move(lists)...); }
struct PrintToStringParamName {
  template <class T> std::string operator()(const T &) const { return ""; }
};
template <class... T> void InitGoogleTest(T &&...) {}
template <class... T> void InitGoogleMock(T &&...) {}
class Environment {
 public:
  virtual ~Environment() = default;
  virtual void SetUp() {}
  virtual void TearDown() {}
};
inline Environment *AddGlobalTestEnvironment(Environment *environment) { return environment->SetUp(), environment; }
}  // namespace testing
namespace klineage {
template <class T> void run() {
  T::SetUpTestSuite();
  T one;
  ::testing::Test &test = one;
  test.SetUp();
  test.TestBody();
  test.TearDown();
}
template <class Fixture> Tests &of_parameters() {
  static Tests all;
  return all;
}
template <class Fixture> struct Parametrised {
  explicit Parametrised(std::function<void()> run) { of_parameters<Fixture>().push_back(std::move(run)); }
};
template <class Fixture> void run_with(const std::vector<typename Fixture::ParamType> &values) {
  for (const typename Fixture::ParamType &value : values) {
    Fixture::klineage_parameter() = &value;
    for (auto &test : of_parameters<Fixture>()) KLINEAGE_TRIED(test());
  }
}
template <template <class> class Of, class... T> void run_types(::testing::Types<T...>) {
  const int each[] = {0, (KLINEAGE_TRIED(run<Of<T>>()), 0)...};
  (void)each;
}
}  // namespace klineage
#define KLINEAGE_CLASS(suite, name) suite##_##name##_Test
#define KLINEAGE_TEST(suite, name, base) \
  class KLINEAGE_CLASS(suite, name) : public base { \
   public: \
    void TestBody() override; \
  }; \
  static ::klineage::Test suite##_##name##_run(&::klineage::run<KLINEAGE_CLASS(suite, name)>); \
  void KLINEAGE_CLASS(suite, name)::TestBody()
#define TEST(suite, name) KLINEAGE_TEST(suite, name, ::testing::Test)
#define TEST_F(fixture, name) KLINEAGE_TEST(fixture, name, fixture)
#define TEST_P(fixture, name) \
  class KLINEAGE_CLASS(fixture, name) : public fixture { \
   public: \
    void TestBody() override; \
  }; \
  static ::klineage::Parametrised<fixture> fixture##_##name##_run(&::klineage::run<KLINEAGE_CLASS(fixture, name)>); \
  void KLINEAGE_CLASS(fixture, name)::TestBody()
#define INSTANTIATE_TEST_SUITE_P(prefix, fixture, ...) \
  static ::klineage::Test prefix##_##fixture##_run([] { \
    ::klineage::run_with<fixture>(::klineage::first_of(__VA_ARGS__)); /* a function that names them may follow */ \
  })
#define INSTANTIATE_TEST_CASE_P INSTANTIATE_TEST_SUITE_P
#define TYPED_TEST_SUITE(fixture, types) typedef types fixture##_types
#define TYPED_TEST_CASE TYPED_TEST_SUITE
#define TYPED_TEST(fixture, name) \
  template <class TypeParam> class KLINEAGE_CLASS(fixture, name) : public fixture<TypeParam> { \
   public: \
    using TestFixture = fixture<TypeParam>; \
    void TestBody() override; \
  }; \
  static ::klineage::Test fixture##_##name##_run([] { \
    ::klineage::run_types<KLINEAGE_CLASS(fixture, name)>(fixture##_types()); \
  }); \
  template <class TypeParam> void KLINEAGE_CLASS(fixture, name)<TypeParam>::TestBody()
#define RUN_ALL_TESTS() ::klineage::run_tests()
#define KLINEAGE_OF(...) ::klineage::computed(__VA_ARGS__)
#define EXPECT_TRUE KLINEAGE_OF
#define EXPECT_FALSE KLINEAGE_OF
#define EXPECT_EQ KLINEAGE_OF
#define EXPECT_NE KLINEAGE_OF
#define EXPECT_LT KLINEAGE_OF
#define EXPECT_LE KLINEAGE_OF
#define EXPECT_GT KLINEAGE_OF
#define EXPECT_GE KLINEAGE_OF
#define EXPECT_NEAR KLINEAGE_OF
#define EXPECT_FLOAT_EQ KLINEAGE_OF
#define EXPECT_DOUBLE_EQ KLINEAGE_OF
#define EXPECT_STREQ KLINEAGE_OF
#define EXPECT_STRNE KLINEAGE_OF
#define ASSERT_TRUE KLINEAGE_OF
#define ASSERT_FALSE KLINEAGE_OF
#define ASSERT_EQ KLINEAGE_OF
#define ASSERT_NE KLINEAGE_OF
#define ASSERT_LT KLINEAGE_OF
#define ASSERT_LE KLINEAGE_OF
#define ASSERT_GT KLINEAGE_OF
#define ASSERT_GE KLINEAGE_OF
#define ASSERT_NEAR KLINEAGE_OF
#define ASSERT_FLOAT_EQ KLINEAGE_OF
#define ASSERT_DOUBLE_EQ KLINEAGE_OF
#define ASSERT_STREQ KLINEAGE_OF
#define ASSERT_STRNE KLINEAGE_OF
#define EXPECT_THROW(statement, kind) KLINEAGE_TRIED(statement)
#define ASSERT_THROW(statement, kind) KLINEAGE_TRIED(statement)
#define EXPECT_ANY_THROW(statement) KLINEAGE_TRIED(statement)
#define ASSERT_ANY_THROW(statement) KLINEAGE_TRIED(statement)
#define EXPECT_NO_THROW(statement) KLINEAGE_TRIED(statement)
#define ASSERT_NO_THROW(statement) KLINEAGE_TRIED(statement)
#define SUCCEED() ::klineage::Words()
#define FAIL() ::klineage::Words()
#define ADD_FAILURE() ::klineage::Words()
#define GTEST_SKIP() ::klineage::Words()
#define SCOPED_TRACE(...) ((void)0)
