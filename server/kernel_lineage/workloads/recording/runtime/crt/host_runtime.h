// The toolkit's own header, after which a kernel is registered with the types of its parameters: the recorder has to
// know how many bytes each of them takes, also where a kernel is launched through an array of addresses. It is included
// twice, as that one is: first for what the compiler's own code needs, then for registering.
#include_next "crt/host_runtime.h"
#if defined(__cudaRegisterEntry) && !defined(KLINEAGE_PARAMETERS)
#define KLINEAGE_PARAMETERS

extern "C" void klineage_parameters(const void *function, int count, const size_t *sizes, const size_t *alignments,
                                    const char *const *types);

namespace klineage {
template <class T> const char *type_of() { return __PRETTY_FUNCTION__; }

template <class... P> void parameters(void (*function)(P...)) {
  static const size_t sizes[] = {sizeof(P)..., 0};
  static const size_t alignments[] = {alignof(P)..., 0};
  static const char *const types[] = {type_of<P>()..., nullptr};
  klineage_parameters(reinterpret_cast<const void *>(function), sizeof...(P), sizes, alignments, types);
}
}  // namespace klineage

#undef __cudaRegisterEntry
#define __cudaRegisterEntry(handle, function, name, limit)                                                            \
  (klineage::parameters(function),                                                                                    \
   __cudaRegisterFunction(handle, (const char *)function, (char *)__device_fun(name), #name, -1, (uint3 *)0,          \
                          (uint3 *)0, (dim3 *)0, (dim3 *)0, (int *)0))
#endif
