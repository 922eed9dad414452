// --- prefix_sums applies
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
// --- prefix_sums becomes
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (blockDim.x % 32 == 0) {
        __shared__ float warp_totals[32];
        float scanned = s[t];
        #pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const float below_ = __shfl_up_sync(0xffffffffu, scanned, step);
            if (threadIdx.x % 32 >= step) {
                scanned = below_ + scanned;
            }
        }
        if (threadIdx.x % 32 == 31) {
            warp_totals[threadIdx.x / 32] = scanned;
        }
        __syncthreads();
        float total = warp_totals[threadIdx.x % 32 < blockDim.x / 32 ? threadIdx.x % 32 : 0];
        #pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const float below_ = __shfl_up_sync(0xffffffffu, total, step);
            if (threadIdx.x % 32 >= step) {
                total = below_ + total;
            }
        }
        total = __shfl_sync(0xffffffffu, total, (threadIdx.x / 32 + 31) % 32);
        if (threadIdx.x >= 32) {
            scanned = total + scanned;
        }
        s[t] = scanned;
        __syncthreads();
    } else {
        for (int d = 1; d < blockDim.x; d *= 2) {
            float below = t >= d ? s[t - d] : 0.0f;
            __syncthreads();
            s[t] += below;
            __syncthreads();
        }
    }
    if (i < n) out[i] = s[t];
}
// --- row_prefixes applies
#define THREADS 128
__global__ void row_prefixes(const float* in, float* out, float* totals, int cols) {
  __shared__ float buffers[2][THREADS];
  unsigned int t = threadIdx.x;
  int from = 1, to = 0;
  buffers[to][t] = t < cols ? in[blockIdx.x * cols + t] : 0;
  for (int offset = 1; offset < THREADS; offset <<= 1) {
    to = 1 - to;
    from = 1 - to;
    __syncthreads();
    if (t < offset) {
      buffers[to][t] = buffers[from][t];
    } else {
      buffers[to][t] = buffers[from][t] + buffers[from][t - offset];
    }
  }
  if (t < cols) out[blockIdx.x * cols + t] = buffers[to][t];
  __syncthreads();
  if (t == 0) totals[blockIdx.x] = buffers[to][THREADS - 1];
}

void rows(const float* in, float* out, float* totals, int n, int cols) {
  row_prefixes<<<n, THREADS>>>(in, out, totals, cols);
}
// --- row_prefixes becomes
#define THREADS 128
__global__ void row_prefixes(const float* in, float* out, float* totals, int cols) {
  __shared__ float buffers[2][THREADS];
  unsigned int t = threadIdx.x;
  int from = 1, to = 0;
  buffers[to][t] = t < cols ? in[blockIdx.x * cols + t] : 0;
  {
    __syncthreads();
    __shared__ float warp_totals[32];
    float scanned = buffers[to][t];
    #pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const float below = __shfl_up_sync(0xffffffffu, scanned, step);
      if (threadIdx.x % 32 >= step) {
        scanned = below + scanned;
      }
    }
    if (threadIdx.x % 32 == 31) {
      warp_totals[threadIdx.x / 32] = scanned;
    }
    __syncthreads();
    float total = warp_totals[threadIdx.x % 32 < blockDim.x / 32 ? threadIdx.x % 32 : 0];
    #pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const float below = __shfl_up_sync(0xffffffffu, total, step);
      if (threadIdx.x % 32 >= step) {
        total = below + total;
      }
    }
    total = __shfl_sync(0xffffffffu, total, (threadIdx.x / 32 + 31) % 32);
    if (threadIdx.x >= 32) {
      scanned = total + scanned;
    }
    for (int offset = 1; offset < THREADS; offset <<= 1) {
      to = 1 - to;
      from = 1 - to;
    }
    buffers[to][t] = scanned;
    __syncthreads();
  }
  if (t < cols) out[blockIdx.x * cols + t] = buffers[to][t];
  __syncthreads();
  if (t == 0) totals[blockIdx.x] = buffers[to][THREADS - 1];
}

void rows(const float* in, float* out, float* totals, int n, int cols) {
  row_prefixes<<<n, THREADS>>>(in, out, totals, cols);
}
// --- running_maximum applies
__global__ void running_maximum(int* y, const int* x, int n, int reach) {
    extern __shared__ int tile[];
    int value = 0;
    tile[threadIdx.x] = x[blockIdx.x * n + threadIdx.x];
    for (int d = 1; d < reach; d = d * 2) {
        __syncthreads();
        if (threadIdx.x >= d) {
            value = max(tile[threadIdx.x], tile[threadIdx.x - d]);
        }
        __syncthreads();
        if (threadIdx.x >= d) {
            tile[threadIdx.x] = value;
        }
    }
    __syncthreads();
    y[blockIdx.x * n + threadIdx.x] = tile[n - 1 - threadIdx.x];
}
// --- running_maximum becomes
__global__ void running_maximum(int* y, const int* x, int n, int reach) {
    extern __shared__ int tile[];
    int value = 0;
    tile[threadIdx.x] = x[blockIdx.x * n + threadIdx.x];
    if (blockDim.x % 32 == 0 && (reach) >= (int)blockDim.x) {
        __syncthreads();
        __shared__ int warp_totals[32];
        int scanned = tile[threadIdx.x];
        #pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int below = __shfl_up_sync(0xffffffffu, scanned, step);
            if (threadIdx.x % 32 >= step) {
                scanned = max(below, scanned);
            }
        }
        if (threadIdx.x % 32 == 31) {
            warp_totals[threadIdx.x / 32] = scanned;
        }
        __syncthreads();
        int total = warp_totals[threadIdx.x % 32 < blockDim.x / 32 ? threadIdx.x % 32 : 0];
        #pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int below = __shfl_up_sync(0xffffffffu, total, step);
            if (threadIdx.x % 32 >= step) {
                total = max(below, total);
            }
        }
        total = __shfl_sync(0xffffffffu, total, (threadIdx.x / 32 + 31) % 32);
        if (threadIdx.x >= 32) {
            scanned = max(total, scanned);
        }
        tile[threadIdx.x] = scanned;
        __syncthreads();
    } else {
        for (int d = 1; d < reach; d = d * 2) {
            __syncthreads();
            if (threadIdx.x >= d) {
                value = max(tile[threadIdx.x], tile[threadIdx.x - d]);
            }
            __syncthreads();
            if (threadIdx.x >= d) {
                tile[threadIdx.x] = value;
            }
        }
    }
    __syncthreads();
    y[blockIdx.x * n + threadIdx.x] = tile[n - 1 - threadIdx.x];
}
// --- signed_prefixes applies
__global__ void signed_prefixes(float* y, const float* x, int n) {
    __shared__ float s[512];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    s[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        int j = tid - d;
        float t = s[tid];
        if (j >= 0) t = s[j] + t;
        __syncthreads();
        s[tid] = t;
        __syncthreads();
    }
    if (i < n) y[i] = s[tid];
}

void prefixes(float* y, const float* x, int n) {
    int threads = 64;
    signed_prefixes<<<(n + threads - 1) / threads, threads>>>(y, x, n);
}
// --- signed_prefixes becomes
__global__ void signed_prefixes(float* y, const float* x, int n) {
    __shared__ float s[512];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    s[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    {
        __shared__ float warp_totals[32];
        float scanned = s[tid];
        #pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const float below = __shfl_up_sync(0xffffffffu, scanned, step);
            if (threadIdx.x % 32 >= step) {
                scanned = below + scanned;
            }
        }
        if (threadIdx.x % 32 == 31) {
            warp_totals[threadIdx.x / 32] = scanned;
        }
        __syncthreads();
        float total = warp_totals[threadIdx.x % 32 < blockDim.x / 32 ? threadIdx.x % 32 : 0];
        #pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const float below = __shfl_up_sync(0xffffffffu, total, step);
            if (threadIdx.x % 32 >= step) {
                total = below + total;
            }
        }
        total = __shfl_sync(0xffffffffu, total, (threadIdx.x / 32 + 31) % 32);
        if (threadIdx.x >= 32) {
            scanned = total + scanned;
        }
        s[tid] = scanned;
        __syncthreads();
    }
    if (i < n) y[i] = s[tid];
}

void prefixes(float* y, const float* x, int n) {
    int threads = 64;
    signed_prefixes<<<(n + threads - 1) / threads, threads>>>(y, x, n);
}
// --- prefix_sums refuses: a barrier is missing
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        s[t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
// --- prefix_sums refuses: a barrier is missing
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
    }
    if (i < n) out[i] = s[t];
}
// --- prefix_sums refuses: may leave before the scan
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (i >= n) return;
    s[t] = x[i];
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
// --- prefix_sums refuses: does not compare a thread with the stride
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t + d < blockDim.x ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
// --- row_prefixes refuses: changes the elements of the threads below
#define THREADS 128
__global__ void row_prefixes(const float* in, float* out, float* totals, int cols) {
  __shared__ float buffers[2][THREADS];
  unsigned int t = threadIdx.x;
  int from = 1, to = 0;
  buffers[to][t] = t < cols ? in[blockIdx.x * cols + t] : 0;
  for (int offset = 1; offset < THREADS; offset <<= 1) {
    to = 1 - to;
    from = 1 - to;
    __syncthreads();
    if (t < offset) {
      buffers[to][t] = 0.0f;
    } else {
      buffers[to][t] = buffers[from][t] + buffers[from][t - offset];
    }
  }
  if (t < cols) out[blockIdx.x * cols + t] = buffers[to][t];
  __syncthreads();
  if (t == 0) totals[blockIdx.x] = buffers[to][THREADS - 1];
}

void rows(const float* in, float* out, float* totals, int n, int cols) {
  row_prefixes<<<n, THREADS>>>(in, out, totals, cols);
}
// --- prefix_sums refuses: combines by `-`
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] -= below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
// --- prefix_sums refuses: is neither a thread
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - 1] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
// --- prefix_sums refuses: is no part of a scan
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
        out[i]++;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
// --- prefix_sums refuses: is used behind the loop
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    float below;
    for (int d = 1; d < blockDim.x; d *= 2) {
        below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t] + below;
}
// --- prefix_sums refuses: neighbouring threads do not have neighbouring elements
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[512];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[2 * t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[2 * t - d] : 0.0f;
        __syncthreads();
        s[2 * t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[2 * t];
}
// --- row_prefixes refuses: may be of the buffer that the scan does not end in
#define THREADS 128
__global__ void row_prefixes(const float* in, float* out, float* totals, int cols) {
  __shared__ float buffers[2][THREADS];
  unsigned int t = threadIdx.x;
  int from = 1, to = 0;
  buffers[to][t] = t < cols ? in[blockIdx.x * cols + t] : 0;
  for (int offset = 1; offset < THREADS; offset <<= 1) {
    to = 1 - to;
    from = 1 - to;
    __syncthreads();
    if (t < offset) {
      buffers[to][t] = buffers[from][t];
    } else {
      buffers[to][t] = buffers[from][t] + buffers[from][t - offset];
    }
  }
  if (t < cols) out[blockIdx.x * cols + t] = buffers[to][t];
  __syncthreads();
  if (t == 0) totals[blockIdx.x] = buffers[from][THREADS - 1];
}

void rows(const float* in, float* out, float* totals, int n, int cols) {
  row_prefixes<<<n, THREADS>>>(in, out, totals, cols);
}
// --- row_prefixes refuses: does not write where the next one reads
#define THREADS 128
__global__ void row_prefixes(const float* in, float* out, float* totals, int cols) {
  __shared__ float buffers[2][THREADS];
  unsigned int t = threadIdx.x;
  int from = 1, to = 0;
  buffers[to][t] = t < cols ? in[blockIdx.x * cols + t] : 0;
  for (int offset = 1; offset < THREADS; offset <<= 1) {
    to = 1 - to;
    __syncthreads();
    if (t < offset) {
      buffers[to][t] = buffers[from][t];
    } else {
      buffers[to][t] = buffers[from][t] + buffers[from][t - offset];
    }
  }
  if (t < cols) out[blockIdx.x * cols + t] = buffers[to][t];
  __syncthreads();
  if (t == 0) totals[blockIdx.x] = buffers[to][THREADS - 1];
}

void rows(const float* in, float* out, float* totals, int n, int cols) {
  row_prefixes<<<n, THREADS>>>(in, out, totals, cols);
}
// --- row_prefixes refuses: before the last thread of a block
#define THREADS 128
__global__ void row_prefixes(const float* in, float* out, float* totals, int cols) {
  __shared__ float buffers[2][THREADS];
  unsigned int t = threadIdx.x;
  int from = 1, to = 0;
  buffers[to][t] = t < cols ? in[blockIdx.x * cols + t] : 0;
  for (int offset = 1; offset < 16; offset <<= 1) {
    to = 1 - to;
    from = 1 - to;
    __syncthreads();
    if (t < offset) {
      buffers[to][t] = buffers[from][t];
    } else {
      buffers[to][t] = buffers[from][t] + buffers[from][t - offset];
    }
  }
  if (t < cols) out[blockIdx.x * cols + t] = buffers[to][t];
  __syncthreads();
  if (t == 0) totals[blockIdx.x] = buffers[to][THREADS - 1];
}

void rows(const float* in, float* out, float* totals, int n, int cols) {
  row_prefixes<<<n, THREADS>>>(in, out, totals, cols);
}
// --- row_prefixes refuses: is not known to be the same for all threads
#define THREADS 128
__global__ void row_prefixes(const float* in, float* out, float* totals, int cols) {
  __shared__ float buffers[2][THREADS];
  unsigned int t = threadIdx.x;
  int from = 1, to = t % 2;
  buffers[to][t] = t < cols ? in[blockIdx.x * cols + t] : 0;
  for (int offset = 1; offset < THREADS; offset <<= 1) {
    to = 1 - to;
    from = 1 - to;
    __syncthreads();
    if (t < offset) {
      buffers[to][t] = buffers[from][t];
    } else {
      buffers[to][t] = buffers[from][t] + buffers[from][t - offset];
    }
  }
  if (t < cols) out[blockIdx.x * cols + t] = buffers[to][t];
  __syncthreads();
  if (t == 0) totals[blockIdx.x] = buffers[to][THREADS - 1];
}

void rows(const float* in, float* out, float* totals, int n, int cols) {
  row_prefixes<<<n, THREADS>>>(in, out, totals, cols);
}
// --- prefix_sums refuses: keeps an element in another type
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ int s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
// --- signed_prefixes refuses: does not compare a thread with the stride
__global__ void signed_prefixes(float* y, const float* x, int n) {
    __shared__ float s[512];
    unsigned tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    s[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        float t = s[tid];
        if (tid - d >= 0) t = s[tid - d] + t;
        __syncthreads();
        s[tid] = t;
        __syncthreads();
    }
    if (i < n) y[i] = s[tid];
}

void prefixes(float* y, const float* x, int n) {
    int threads = 64;
    signed_prefixes<<<(n + threads - 1) / threads, threads>>>(y, x, n);
}
// --- signed_prefixes refuses: keeps an element in another type
__global__ void signed_prefixes(float* y, const float* x, int n) {
    __shared__ float s[512];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    s[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        int j = tid - d;
        int t = s[tid];
        if (j >= 0) t = s[j] + t;
        __syncthreads();
        s[tid] = t;
        __syncthreads();
    }
    if (i < n) y[i] = s[tid];
}

void prefixes(float* y, const float* x, int n) {
    int threads = 64;
    signed_prefixes<<<(n + threads - 1) / threads, threads>>>(y, x, n);
}
// --- signed_prefixes refuses: combines by `+` what is not two elements
__global__ void signed_prefixes(float* y, const float* x, int n) {
    __shared__ float s[512];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    s[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        int j = tid - d;
        float t = s[tid];
        if (j >= 0) t = s[j] + t;
        __syncthreads();
        s[tid] = s[tid] + t;
        __syncthreads();
    }
    if (i < n) y[i] = s[tid];
}

void prefixes(float* y, const float* x, int n) {
    int threads = 64;
    signed_prefixes<<<(n + threads - 1) / threads, threads>>>(y, x, n);
}
