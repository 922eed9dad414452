// AT_DISPATCH_…: the case of a type calls what it is given with `scalar_t` as that type.
#pragma once
#include "cuda.h"

#define AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, hint, ...)                                                          \
  case enum_type: {                                                                                                    \
    using hint [[maybe_unused]] = c10::ScalarTypeToCPPTypeT<enum_type>;                                                \
    return __VA_ARGS__();                                                                                              \
  }
#define AT_DISPATCH_CASE(enum_type, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)
#define THO_DISPATCH_CASE AT_DISPATCH_CASE
#define AT_DISPATCH_SWITCH(type, name, ...)                                                                            \
  [&] {                                                                                                                \
    const c10::ScalarType klineage_type = type;                                                                        \
    switch (klineage_type) {                                                                                           \
      __VA_ARGS__                                                                                                      \
      default:                                                                                                         \
        klineage::compared() = {c10::klineage_dtype(klineage_type), "dispatch", ""};                                   \
        klineage::fail("check", "dispatch", name);                                                                     \
    }                                                                                                                  \
  }()
#define KLINEAGE_D(N, ...) AT_DISPATCH_CASE(c10::ScalarType::N, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) KLINEAGE_D(Double, __VA_ARGS__) KLINEAGE_D(Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                                                                           \
  KLINEAGE_D(Byte, __VA_ARGS__) KLINEAGE_D(Char, __VA_ARGS__) KLINEAGE_D(Int, __VA_ARGS__)                             \
  KLINEAGE_D(Long, __VA_ARGS__) KLINEAGE_D(Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) KLINEAGE_D(Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, ...)                                                                \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(t, n, ...) AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(t, n, ...)                                                                 \
  AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) KLINEAGE_D(Half, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(a, t, n, ...)                                                                   \
  AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(a, b, t, n, ...)                                                               \
  AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(a, b, c, t, n, ...)                                                            \
  AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(t, n, ...)                                                                  \
  AT_DISPATCH_SWITCH(t, n, KLINEAGE_D(Half, __VA_ARGS__) KLINEAGE_D(BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(t, n, ...) AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(t, n, ...) AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(a, t, n, ...)                                                                        \
  AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(a, b, t, n, ...)                                                                    \
  AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(a, b, c, t, n, ...)                                                                 \
  AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__)                    \
                               AT_DISPATCH_CASE(b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(t, n, ...)                                                                             \
  AT_DISPATCH_SWITCH(t, n, AT_PRIVATE_CASE_TYPE_USING_HINT(c10::ScalarType::Int, index_t, __VA_ARGS__)                 \
                               AT_PRIVATE_CASE_TYPE_USING_HINT(c10::ScalarType::Long, index_t, __VA_ARGS__))
// The second form lists its types behind what is to be called; `AT_WRAP` keeps commas of that together.
#define KLINEAGE_AGAIN ()
#define KLINEAGE_SCAN2(...) __VA_ARGS__
#define KLINEAGE_SCAN1(...) KLINEAGE_SCAN2(KLINEAGE_SCAN2(KLINEAGE_SCAN2(KLINEAGE_SCAN2(__VA_ARGS__))))
#define KLINEAGE_SCAN(...) KLINEAGE_SCAN1(KLINEAGE_SCAN1(KLINEAGE_SCAN1(KLINEAGE_SCAN1(__VA_ARGS__))))
#define KLINEAGE_BARE(...) __VA_ARGS__
#define KLINEAGE_CASES(body, one, ...)                                                                                 \
  AT_DISPATCH_CASE(one, KLINEAGE_BARE body) __VA_OPT__(KLINEAGE_CASES_AGAIN KLINEAGE_AGAIN(body, __VA_ARGS__))
#define KLINEAGE_CASES_AGAIN() KLINEAGE_CASES
#define KLINEAGE_SWITCH(type, name, body, ...) AT_DISPATCH_SWITCH(type, name, KLINEAGE_SCAN(KLINEAGE_CASES(body, __VA_ARGS__)))
#define AT_DISPATCH_V2(type, name, body, ...) KLINEAGE_SWITCH(type, name, (body), __VA_ARGS__)
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(...) __VA_ARGS__
#define AT_FLOATING_TYPES c10::ScalarType::Double, c10::ScalarType::Float
#define AT_INTEGRAL_TYPES c10::ScalarType::Byte, c10::ScalarType::Char, c10::ScalarType::Int, c10::ScalarType::Long, c10::ScalarType::Short
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
