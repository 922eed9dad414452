// What a program asks for and nobody gives: files that are not there and what would be typed. In a run that sets sizes
// for them, numbers are these sizes, in the order in which they are read, and bytes are zeros; else nothing is there.
#pragma once
#include "recorder.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <type_traits>

namespace klineage {
constexpr int kMostRead = 4096;
inline std::set<FILE *> &absent() {
  static std::set<FILE *> all{stdin};
  return all;
}
inline int &numbers_read() {
  static int count = 0;
  return count;
}
inline long next_number() {
  const std::string name = "read_" + std::to_string(numbers_read()++);
  return klineage_size(name.c_str(), 16);
}
inline bool is_given() { return getenv("KLINEAGE_SIZE_read_0") != nullptr; }
inline FILE *opened(const char *path, const char *mode) {
  FILE *there = std::fopen(path, mode);
  if (there || !is_given()) return there;
  FILE *file = std::fopen(*mode == 'r' ? "/dev/zero" : "/dev/null", mode);
  if (file && *mode == 'r') absent().insert(file);
  return file;
}
// The conversions of a format, as far as they are numbers and words; how many there are.
inline int scanned(const char *format, va_list places) {
  int count = 0;
  for (const char *c = format; *c; ++c) {
    if (*c != '%' || *++c == '%') continue;
    const bool is_skipped = *c == '*';
    int longs = 0;
    for (; *c && strchr("*0123456789hlzjt", *c); ++c) longs += *c == 'l' || *c == 'z' || *c == 'j';
    if (!*c || numbers_read() > kMostRead) break;
    if (is_skipped) continue;
    ++count;
    if (strchr("diuxo", *c)) {
      void *place = va_arg(places, void *);
      longs ? void(*static_cast<long *>(place) = next_number()) : void(*static_cast<int *>(place) = next_number());
    } else if (strchr("fge", *c)) {
      void *place = va_arg(places, void *);
      longs ? void(*static_cast<double *>(place) = 0.5) : void(*static_cast<float *>(place) = 0.5f);
    } else if (strchr("sc[", *c)) {
      char *place = va_arg(places, char *);
      *place = 0;
    } else {
      break;
    }
  }
  return numbers_read() > kMostRead ? EOF : count;
}
inline int scanned_from(FILE *file, const char *format, ...) {
  va_list places;
  va_start(places, format);
  const int count = is_given() && absent().count(file) ? scanned(format, places) : vfscanf(file, format, places);
  va_end(places);
  return count;
}
// A file whose numbers are sizes where it is not there.
struct input : std::ifstream {
  bool is_there = !is_given();
  input() = default;
  template <class P> explicit input(const P &path, std::ios::openmode mode = std::ios::in) { open(path, mode); }
  template <class P> void open(const P &path, std::ios::openmode mode = std::ios::in) {
    std::ifstream::open(path, mode);
    is_there = is_open() || !is_given();
    if (!is_there) std::ifstream::clear(), std::ifstream::open("/dev/zero", mode);
  }
  template <class T> input &operator>>(T &value) {
    if constexpr (std::is_arithmetic_v<T>) {
      if (is_there) static_cast<std::istream &>(*this) >> value;
      else if (numbers_read() > kMostRead) setstate(std::ios::failbit);
      else value = std::is_integral_v<T> ? T(next_number()) : T(0.5);
    } else if (is_there) {
      static_cast<std::istream &>(*this) >> value;
    }
    return *this;
  }
};
}  // namespace klineage
inline FILE *klineage_fopen(const char *path, const char *mode) { return klineage::opened(path, mode); }
template <class... A> int klineage_fscanf(FILE *file, const char *format, A... places) {
  return klineage::scanned_from(file, format, places...);
}
template <class... A> int klineage_scanf(const char *format, A... places) {
  return klineage::scanned_from(stdin, format, places...);
}
using klineage_input = klineage::input;
inline klineage_input klineage_typed;
// What the recorder itself asks for.
inline std::istream &klineage_calls = std::cin;
namespace std {
using ::klineage_fopen, ::klineage_fscanf, ::klineage_scanf, ::klineage_input, ::klineage_typed;
}
#define fopen klineage_fopen
#define fscanf klineage_fscanf
#define scanf klineage_scanf
#define ifstream klineage_input
#define cin klineage_typed
