// What the stand-in for the CUDA runtime offers to the code that is recorded.
#pragma once
#include <cstddef>

extern "C" {
/// The size that a run asks for in the place of one that the code writes out.
long klineage_size(const char *name, long written);
/// `exit` of a program that is recorded: it goes on, because what follows may launch more.
void klineage_exit(int status);
void klineage_abort();
/// The end of the process.
void klineage_end();
/// Say what stands behind a buffer; `how` is one of "unset", "cleared", "data" and "kernel".
void klineage_describe(const void *data, const char *name, const char *dtype, const char *how, int rank,
                       const long *shape, const long *strides);
/// Memory of the recorded device. Null for a size that no device has.
void *klineage_allocate(size_t bytes, const char *how);
/// Forget which launches there were: what follows is another call.
void klineage_call(const char *tag);
}
