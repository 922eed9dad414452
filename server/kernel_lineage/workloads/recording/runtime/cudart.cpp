// A stand-in for the CUDA runtime that records: host code runs, no kernel does, and every launch becomes a line of JSON.
//
// Variables: KLINEAGE_RECORD is the file of the lines, KLINEAGE_SIZE_<name> the size to take for one that is written
// out, KLINEAGE_LAST the number of launches after which the program ends.
#include "recorder.h"

#include <cuda_runtime_api.h>
#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#define RUNTIME extern "C" cudaError_t

namespace {
constexpr size_t kPage = 4096, kMostBytes = size_t(1) << 40, kMostScanned = size_t(1) << 22;
constexpr int kMostOfOneKernel = 48, kMostShownBytes = 8192, kCalls = 16;

struct Buffer {
  size_t bytes;
  int number;
  std::string how, name, dtype;
  std::vector<long> shape, strides;
};
struct Kernel {
  std::string mangled, name;
  std::vector<size_t> sizes, alignments;
  std::vector<std::string> types;
};
struct Configuration {
  dim3 grid, block;
  size_t shared;
  void *stream;
};
struct Recorder {
  std::map<uintptr_t, Buffer> buffers;
  std::map<const void *, Kernel> kernels;
  std::set<std::string> lines;
  std::map<std::string, int> launches;
  std::vector<Configuration> configurations;
  std::string tag;
  int next = 0, total = 0, last = 0;
  FILE *out = nullptr;
  cudaError_t error = cudaSuccess;
  Recorder() {
    if (const char *path = getenv("KLINEAGE_RECORD")) out = fopen(path, "a");
    if (const char *count = getenv("KLINEAGE_LAST")) last = atoi(count);
  }
};
int exits = 0;
// Never destroyed: destructors of the program still use it.
Recorder &recorder() {
  static Recorder *only = new Recorder;
  return *only;
}

std::map<uintptr_t, Buffer>::value_type *buffer_at(const void *address) {
  auto &all = recorder().buffers;
  auto next = all.upper_bound(reinterpret_cast<uintptr_t>(address));
  if (next == all.begin()) return nullptr;
  --next;
  return reinterpret_cast<uintptr_t>(address) < next->first + std::max<size_t>(next->second.bytes, 1) ? &*next : nullptr;
}
size_t whole_pages(size_t bytes) { return (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage; }

void give_back(void *data) {
  auto &all = recorder().buffers;
  auto place = all.find(reinterpret_cast<uintptr_t>(data));
  // After an exit() that came back, code still reads what it has freed.
  if (place == all.end() || exits) return;
  munmap(data, whole_pages(place->second.bytes) + kPage);
  all.erase(place);
}
bool holds(const void *data, size_t bytes) {
  auto *buffer = buffer_at(data);
  return !buffer || reinterpret_cast<uintptr_t>(data) + bytes <= buffer->first + buffer->second.bytes;
}
void becomes(const void *data, const std::string &how) {
  if (auto *buffer = buffer_at(data)) buffer->second.how = how;
}

// Whether a buffer holds zeros alone: a kernel that may write there was called to put something else there.
bool is_zero(const std::map<uintptr_t, Buffer>::value_type &buffer) {
  const char *bytes = reinterpret_cast<const char *>(buffer.first);
  return std::all_of(bytes, bytes + std::min(buffer.second.bytes, kMostScanned), [](char c) { return !c; });
}

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return out + "\"";
}
std::string listed(const std::vector<long> &numbers) {
  std::ostringstream out;
  for (size_t i = 0; i < numbers.size(); ++i) out << (i ? "," : "[") << numbers[i];
  return numbers.empty() ? "[]" : out.str() + "]";
}
template <class T> std::string range(const void *data, size_t bytes) {
  size_t count = std::min(bytes / sizeof(T), kMostScanned);
  const T *values = static_cast<const T *>(data);
  if (!count || reinterpret_cast<uintptr_t>(data) % alignof(T)) return "";
  T low = values[0], high = values[0];
  bool ascends = count > 2, counts = true;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(static_cast<double>(values[i]))) return "";
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
    ascends &= !i || values[i] >= values[i - 1];
    counts &= values[i] == static_cast<T>(i);
  }
  std::ostringstream out;
  out.precision(17);
  out << ",\"low\":" << +low << ",\"high\":" << +high << ",\"ascends\":" << (ascends && !counts ? "true" : "false");
  return out.str();
}
// What the elements of a buffer are, where only the structure that holds its address could tell their type. Of elements
// that are structures themselves, what they are as floats: numbers of several kinds have no common range.
std::string ranges(const void *data, size_t bytes, bool are_structures) {
  std::string out;
  auto one = [&](const char *dtype, const std::string &range) {
    if (!range.empty()) out += (out.empty() ? "\"" : ",\"") + std::string(dtype) + "\":{" + range.substr(1) + "}";
  };
  if (!are_structures) {
    one("int32", range<int>(data, bytes)), one("uint32", range<unsigned>(data, bytes));
    one("int64", range<long>(data, bytes)), one("uint64", range<unsigned long>(data, bytes));
    one("uint8", range<unsigned char>(data, bytes));
  }
  one("float32", range<float>(data, bytes)), one("float64", range<double>(data, bytes));
  return ",\"ranges\":{" + out + "}";
}
// The element that a pointer's type names, as `type_of` spells it.
std::string element_of(const std::string &type) {
  std::string kind = type.substr(0, type.find('*'));
  for (const char *word : {"const ", "volatile "})
    for (size_t at; (at = kind.find(word)) != std::string::npos;) kind.erase(at, strlen(word));
  while (!kind.empty() && kind.back() == ' ') kind.pop_back();
  return kind;
}
std::string range_of(const std::string &type, const void *data, size_t bytes) {
  const std::string kind = element_of(type);
  if (kind == "int") return range<int>(data, bytes);
  if (kind == "unsigned int") return range<unsigned>(data, bytes);
  if (kind == "long int" || kind == "long long int") return range<long>(data, bytes);
  if (kind == "long unsigned int" || kind == "long long unsigned int") return range<unsigned long>(data, bytes);
  if (kind == "short int") return range<short>(data, bytes);
  if (kind == "short unsigned int") return range<unsigned short>(data, bytes);
  if (kind == "char" || kind == "signed char") return range<signed char>(data, bytes);
  if (kind == "unsigned char" || kind == "bool") return range<unsigned char>(data, bytes);
  if (kind == "float") return range<float>(data, bytes);
  if (kind == "double") return range<double>(data, bytes);
  return ranges(data, bytes, true);
}
std::string pointer(const void *address, const std::string &type) {
  auto *buffer = buffer_at(address);
  if (!buffer) return address ? "{\"unknown\":true}" : "{\"null\":true}";
  const Buffer &known = buffer->second;
  size_t offset = reinterpret_cast<uintptr_t>(address) - buffer->first;
  std::ostringstream out;
  out << "{\"buffer\":" << known.number << ",\"offset\":" << offset << ",\"bytes\":" << known.bytes << ",\"how\":"
      << quoted(known.how) << ",\"name\":" << quoted(known.name) << ",\"dtype\":" << quoted(known.dtype) << ",\"shape\":"
      << listed(known.shape) << ",\"strides\":" << listed(known.strides);
  size_t left = known.bytes - offset;
  if (known.how == "data") out << (type.find('*') < type.size() ? range_of(type, address, left) : ranges(address, left, false));
  out << "}";
  return out.str();
}
std::string argument(const std::string &type, size_t size, size_t alignment, const unsigned char *raw) {
  std::ostringstream out;
  out << "{\"type\":" << quoted(type) << ",\"alignment\":" << alignment << ",\"bytes\":\"";
  for (size_t i = 0; i < std::min<size_t>(size, kMostShownBytes); ++i) {
    char pair[3];
    snprintf(pair, sizeof pair, "%02x", raw[i]);
    out << pair;
  }
  out << "\",\"pointers\":[";
  bool first = true, is_pointer = !type.empty() && type.back() == '*';
  for (size_t i = 0; i + 8 <= size; i += 8) {
    void *address;
    memcpy(&address, raw + i, 8);
    if (!is_pointer && !buffer_at(address)) continue;
    out << (first ? "" : ",") << "[" << i << "," << pointer(address, is_pointer ? type : "") << "]";
    first = false;
  }
  out << "]}";
  return out.str();
}
std::string extents(dim3 d) {
  std::ostringstream out;
  out << "[" << d.x << "," << d.y << "," << d.z << "]";
  return out.str();
}

cudaError_t launch(const Kernel &kernel, dim3 grid, dim3 block, void **arguments, size_t shared, bool cooperative,
                   dim3 cluster) {
  Recorder &own = recorder();
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!grid.x || !grid.y || !grid.z || !threads || threads > 1024 || grid.y > 65535 || grid.z > 65535)
    return own.error = cudaErrorInvalidConfiguration;
  std::ostringstream out;
  out << "{\"kernel\":" << quoted(kernel.name) << ",\"call\":" << quoted(own.tag) << ",\"grid\":" << extents(grid)
      << ",\"block\":" << extents(block) << ",\"cluster\":" << extents(cluster) << ",\"shared\":" << shared
      << ",\"cooperative\":" << (cooperative ? "true" : "false") << ",\"arguments\":[";
  for (size_t i = 0; i < kernel.sizes.size(); ++i)
    out << (i ? "," : "") << argument(kernel.types[i], kernel.sizes[i], kernel.alignments[i],
                                      static_cast<unsigned char *>(arguments[i]));
  out << "]}\n";
  // What the kernel may write is not known any more.
  for (size_t i = 0; i < kernel.sizes.size(); ++i)
    if (kernel.types[i].find('*') != std::string::npos && kernel.types[i].compare(0, 6, "const ") != 0) {
      auto *buffer = buffer_at(*static_cast<void **>(arguments[i]));
      if (buffer && (buffer->second.how != "data" || is_zero(*buffer))) buffer->second.how = "kernel";
    }
  if (own.out && own.lines.insert(out.str()).second && own.launches[kernel.mangled]++ < kMostOfOneKernel) {
    fputs(out.str().c_str(), own.out);
    fflush(own.out);
    if (own.last && ++own.total >= own.last) _exit(0);
  }
  return cudaSuccess;
}
cudaError_t launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, bool cooperative,
                   dim3 cluster) {
  Recorder &own = recorder();
  auto place = own.kernels.find(function);
  if (place == own.kernels.end()) return own.error = cudaErrorInvalidDeviceFunction;
  return launch(place->second, grid, block, arguments, shared, cooperative, cluster);
}
std::string demangled(const char *name) {
  int status = 0;
  char *text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string all = status == 0 ? text : name;
  std::free(text);
  return all;
}
void add_parameters(Kernel &kernel, int count, const size_t *sizes, const size_t *alignments, const char *const *types) {
  for (int i = 0; i < count; ++i) {
    std::string type = types[i];  // … [with T = const float*]
    size_t begin = type.find("T = "), end = type.rfind(']');
    kernel.types.push_back(begin == std::string::npos ? type : type.substr(begin + 4, end - begin - 4));
    kernel.sizes.push_back(sizes[i]);
    kernel.alignments.push_back(alignments[i]);
  }
}
}  // namespace

extern "C" long klineage_size(const char *name, long written) {
  const char *asked = getenv((std::string("KLINEAGE_SIZE_") + name).c_str());
  return asked ? atol(asked) : written;
}
extern "C" void klineage_exit(int) {
  // A program that calls it again and again goes nowhere any more.
  // One that compares results does so for each element: launches follow.
  if (++exits > 20000) _exit(0);
}
extern "C" void klineage_end() { _exit(0); }
extern "C" void klineage_abort() { klineage_exit(134); }
extern "C" void *klineage_allocate(size_t bytes, const char *how) {
  if (bytes > kMostBytes) return nullptr;
  size_t mapped = whole_pages(bytes);
  void *data = mmap(nullptr, mapped + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  mprotect(static_cast<char *>(data) + mapped, kPage, PROT_NONE);
  recorder().buffers[reinterpret_cast<uintptr_t>(data)] = {bytes, recorder().next++, how, "", "", {}, {}};
  return data;
}
extern "C" void klineage_describe(const void *data, const char *name, const char *dtype, const char *how, int rank,
                                  const long *shape, const long *strides) {
  auto *buffer = buffer_at(data);
  if (!buffer) return;
  Buffer &known = buffer->second;
  if (known.name.empty()) known.name = name;
  known.dtype = dtype;
  known.how = how;
  known.shape.assign(shape, shape + rank);
  known.strides.assign(strides, strides + rank);
}
extern "C" void klineage_call(const char *tag) {
  recorder().tag = tag;
  recorder().lines.clear();
  recorder().launches.clear();
}
extern "C" void klineage_parameters(const void *function, int count, const size_t *sizes, const size_t *alignments,
                                    const char *const *types) {
  add_parameters(recorder().kernels[function], count, sizes, alignments, types);
}
// A kernel that g++ has built tells itself what it is given: `kernel` is the name of a type in its body.
extern "C" void klineage_launched(const char *kernel, int count, const size_t *sizes, const size_t *alignments,
                                  const char *const *types, void **arguments) {
  auto &open = recorder().configurations;
  if (open.empty()) return;
  const Configuration now = open.back();
  open.pop_back();
  const std::string within = demangled(kernel);
  Kernel called{kernel, within.substr(0, within.rfind("::")), {}, {}, {}};
  add_parameters(called, count, sizes, alignments, types);
  launch(called, now.grid, now.block, arguments, now.shared, false, dim3());
}

// ---- what compiled code calls by itself
extern "C" void **__cudaRegisterFatBinary(void *) {
  static void *handle;
  return &handle;
}
extern "C" void __cudaRegisterFatBinaryEnd(void **) {}
extern "C" void __cudaUnregisterFatBinary(void **) {}
extern "C" char __cudaInitModule(void **) { return 1; }
extern "C" void __cudaRegisterFunction(void **, const char *function, char *, const char *name, int, uint3 *, uint3 *,
                                       dim3 *, dim3 *, int *) {
  Kernel &kernel = recorder().kernels[function];
  kernel.mangled = name;
  kernel.name = demangled(name);
}
extern "C" void __cudaRegisterVar(void **, char *host, char *, const char *name, int, size_t bytes, int, int) {
  recorder().buffers[reinterpret_cast<uintptr_t>(host)] = {bytes, recorder().next++, "data", name, "", {}, {}};
}
extern "C" void __cudaRegisterManagedVar(void **, void **host, char *, const char *, int, size_t bytes, int, int) {
  *host = klineage_allocate(bytes, "data");
}
extern "C" void __cudaRegisterTexture(void **, const void *, const void **, const char *, int, int, int) {}
extern "C" void __cudaRegisterSurface(void **, const void *, const void **, const char *, int, int) {}
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
  recorder().configurations.push_back({grid, block, shared, stream});
  return 0;
}
RUNTIME __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  auto &open = recorder().configurations;
  if (open.empty()) return cudaErrorMissingConfiguration;
  *grid = open.back().grid, *block = open.back().block, *shared = open.back().shared;
  *static_cast<void **>(stream) = open.back().stream;
  open.pop_back();
  return cudaSuccess;
}
RUNTIME __cudaGetKernel(cudaKernel_t *kernel, const void *function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void *>(function));
  return cudaSuccess;
}
RUNTIME __cudaLaunchKernel(cudaKernel_t f, dim3 g, dim3 b, void **a, size_t s, cudaStream_t) {
  return launch(f, g, b, a, s, false, dim3());
}
RUNTIME cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t s, cudaStream_t) {
  return launch(f, g, b, a, s, false, dim3());
}
RUNTIME cudaLaunchCooperativeKernel(const void *f, dim3 g, dim3 b, void **a, size_t s, cudaStream_t) {
  return launch(f, g, b, a, s, true, dim3());
}
RUNTIME cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *f, void **a) {
  bool cooperative = false;
  dim3 cluster;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const auto &one = config->attrs[i];
    cooperative |= one.id == cudaLaunchAttributeCooperative && one.val.cooperative;
    if (one.id == cudaLaunchAttributeClusterDimension)
      cluster = dim3(one.val.clusterDim.x, one.val.clusterDim.y, one.val.clusterDim.z);
  }
  return launch(f, config->gridDim, config->blockDim, a, config->dynamicSmemBytes, cooperative, cluster);
}

#include "memory.h"

#include "device.h"

RUNTIME cudaGetLastError() {
  cudaError_t last = recorder().error;
  return recorder().error = cudaSuccess, last;
}
RUNTIME cudaPeekAtLastError() { return recorder().error; }
extern "C" const char *cudaGetErrorString(cudaError_t e) { return e ? "an error of the recorded run" : "no error"; }
extern "C" const char *cudaGetErrorName(cudaError_t e) { return e ? "cudaErrorOfTheRecordedRun" : "cudaSuccess"; }

// After an exit() that came back, nothing is freed: what calls exit() does not expect to go on.
extern "C" void __libc_free(void *);
extern "C" void free(void *data) {
  if (!exits) __libc_free(data);
}
