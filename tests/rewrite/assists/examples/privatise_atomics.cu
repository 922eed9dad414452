// --- histogram applies
__global__ void histogram(unsigned int* bins, const unsigned char* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[data[i]], 1);
    }
}

void launch(unsigned int* bins, const unsigned char* data, int n) {
    histogram<<<(n + 255) / 256, 256>>>(bins, data, n);
}
// --- histogram becomes
__global__ void histogram(unsigned int* bins, const unsigned char* data, int n) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    // A block adds to its own copy; what lies beyond the first 2048 goes to bins at once.
    __shared__ unsigned int own_bins[2048];
    for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) { own_bins[bin] = 0; }
    __syncthreads();
    for (long long element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += stride) {
        int i = (int)element;
        {
            const long long at = data[i];
            if (at >= 0 && at < 2048) {
                atomicAdd(&own_bins[at], 1);
            } else {
                atomicAdd(&bins[at], 1);
            }
        }
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) {
        if (own_bins[bin] != 0) { atomicAdd(&bins[bin], own_bins[bin]); }
    }
}

void launch(unsigned int* bins, const unsigned char* data, int n) {
    histogram<<<((n + 255) / 256) < 1024 ? ((n + 255) / 256) : 1024, 256>>>(bins, data, n);
}
// --- weighted applies
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      atomicAdd(sums + group[i], x[i] * x[i]);
  }
}
// --- weighted becomes
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  // A block adds to its own copy; what lies beyond the first 2048 goes to sums at once.
  __shared__ float own_sums[2048];
  for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) { own_sums[bin] = 0; }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      {
        const long long at = group[i];
        if (at >= 0 && at < 2048) {
          atomicAdd(&own_sums[at], x[i] * x[i]);
        } else {
          atomicAdd(&sums[at], x[i] * x[i]);
        }
      }
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) {
    if (own_sums[bin] != 0) { atomicAdd(&sums[bin], own_sums[bin]); }
  }
}
// --- histogram_by_names applies
#include <cstdint>
using u8 = std::uint8_t;
typedef unsigned int count_t;
using place_t = std::size_t;
__global__ void histogram_by_names(const u8* bytes, place_t count, count_t* bins) {
    const place_t tid = (place_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < count)
        atomicAdd(&bins[bytes[tid]], 1u);
}
// --- histogram_by_names becomes
#include <cstdint>
using u8 = std::uint8_t;
typedef unsigned int count_t;
using place_t = std::size_t;
__global__ void histogram_by_names(const u8* bytes, place_t count, count_t* bins) {
    const place_t stride = (place_t)gridDim.x * blockDim.x;
    // A block adds to its own copy; what lies beyond the first 2048 goes to bins at once.
    __shared__ unsigned int own_bins[2048];
    for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) { own_bins[bin] = 0; }
    __syncthreads();
    for (place_t tid = (place_t)blockIdx.x * blockDim.x + threadIdx.x; tid < count; tid += stride) {
        {
            const long long at = bytes[tid];
            if (at >= 0 && at < 2048) {
                atomicAdd(&own_bins[at], 1u);
            } else {
                atomicAdd(&bins[at], 1u);
            }
        }
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) {
        if (own_bins[bin] != 0) { atomicAdd(&bins[bin], own_bins[bin]); }
    }
}
// --- words applies
__global__ void words(const int* texts, int* counts, int n, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < length; k++) {
        atomicAdd(&counts[texts[i * length + k]], 1);
    }
}
// --- words becomes
__global__ void words(const int* texts, int* counts, int n, int length) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    // A block adds to its own copy; what lies beyond the first 2048 goes to counts at once.
    __shared__ int own_counts[2048];
    for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) { own_counts[bin] = 0; }
    __syncthreads();
    for (long long element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += stride) {
        int i = (int)element;
        for (int k = 0; k < length; k++) {
            {
                const long long at = texts[i * length + k];
                if (at >= 0 && at < 2048) {
                    atomicAdd(&own_counts[at], 1);
                } else {
                    atomicAdd(&counts[at], 1);
                }
            }
        }
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) {
        if (own_counts[bin] != 0) { atomicAdd(&counts[bin], own_counts[bin]); }
    }
}
// --- pixels applies
__global__ void pixels(const unsigned char* image, unsigned int* bins, int width, int height) {
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += gridDim.y * blockDim.y) {
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += gridDim.x * blockDim.x) {
            atomicAdd(&bins[image[y * width + x]], 1u);
        }
    }
}
// --- pixels becomes
__global__ void pixels(const unsigned char* image, unsigned int* bins, int width, int height) {
    // A block adds to its own copy; what lies beyond the first 2048 goes to bins at once.
    __shared__ unsigned int own_bins[2048];
    for (int bin = threadIdx.y * blockDim.x + threadIdx.x; bin < 2048; bin += blockDim.x * blockDim.y) { own_bins[bin] = 0; }
    __syncthreads();
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += gridDim.y * blockDim.y) {
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += gridDim.x * blockDim.x) {
            {
                const long long at = image[y * width + x];
                if (at >= 0 && at < 2048) {
                    atomicAdd(&own_bins[at], 1u);
                } else {
                    atomicAdd(&bins[at], 1u);
                }
            }
        }
    }
    __syncthreads();
    for (int bin = threadIdx.y * blockDim.x + threadIdx.x; bin < 2048; bin += blockDim.x * blockDim.y) {
        if (own_bins[bin] != 0) { atomicAdd(&bins[bin], own_bins[bin]); }
    }
}
// --- weighted refuses: is not an element of a named pointer
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      atomicAdd(sums, x[i] * x[i]);
  }
}
// --- weighted refuses: is used at another place as well
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      atomicAdd(sums + group[i], sums[0]);
  }
}
// --- weighted refuses: returns is used
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      n += atomicAdd(sums + group[i], x[i] * x[i]);
  }
}
// --- weighted refuses: would be missing at the barriers
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < 0) return; else
      atomicAdd(sums + group[i], x[i] * x[i]);
  }
}
// --- weighted refuses: has shared memory of its own
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  __shared__ float own[32];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      atomicAdd(sums + group[i], x[i] * x[i]);
  }
}
// --- weighted refuses: not known to point to a type
__global__ void weighted(unsigned short* sums, const int* group, const float* x, int n, int groups) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      atomicAdd(sums + group[i], x[i] * x[i]);
  }
}
