// What CUDA 13 no longer has and programs for CUDA 11 and 12 use: fields of the properties, older signatures.
#pragma once
#include <cuda_runtime.h>
#if CUDART_VERSION >= 13000
struct klineage_properties : cudaDeviceProp {
    int clockRate = 1980000, memoryClockRate = 2619000;  // kHz
    int deviceOverlap = 1, computeMode = 0, kernelExecTimeoutEnabled = 0;
    int cooperativeMultiDeviceLaunch = 0, singleToDoublePrecisionPerfRatio = 2, maxTexture1DLinear = 1 << 27;
};
#define cudaDeviceProp klineage_properties
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
#endif
