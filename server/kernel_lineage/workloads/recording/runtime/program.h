// Before the text of a program: it does not leave at its first mismatch, which it has because no kernel runs.
#pragma once
#include "recorder.h"
#ifdef KLINEAGE_PLAIN
#include "plain.h"
#else
#define KLINEAGE_KERNEL(...)
#endif
#include "removed.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <cassert>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
namespace std {
using ::klineage_abort;
using ::klineage_exit;
}
// In the place of the body of a function that does not compile here.
[[noreturn]] inline void klineage_lost(const char *why) { throw std::runtime_error(std::string("error\t") + why); }
#include "input.h"
#define exit klineage_exit
#define quick_exit klineage_exit
#define _exit klineage_exit
#define abort klineage_abort
