// For toolkits that come without it.
#pragma once
#include <cuda_runtime_api.h>
extern "C" cudaError_t cudaProfilerStart(void);
extern "C" cudaError_t cudaProfilerStop(void);
