// --- block_sum applies
__global__ void block_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

void launch(float* out, const float* x, int rows, int n) {
    block_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
// --- block_sum becomes
__global__ void block_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    {
        __syncthreads();
        float value = shared[tid];
        for (int offset = 16; offset > 0; offset /= 2) {
            value = value + __shfl_down_sync(0xffffffffu, value, offset);
        }
        __syncthreads();
        if (tid % 32 == 0) {
            shared[tid / 32] = value;
        }
        __syncthreads();
        if (tid < 32) {
            value = tid < blockDim.x / 32 ? shared[tid] : 0;
            for (int offset = 16; offset > 0; offset /= 2) {
                value = value + __shfl_down_sync(0xffffffffu, value, offset);
            }
            __syncwarp();
            if (tid == 0) {
                shared[0] = value;
            }
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

void launch(float* out, const float* x, int rows, int n) {
    block_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
// --- row_max applies
__global__ void row_max(float* out, const float* x, int c) {
  __shared__ float best[1024];
  float m = x[blockIdx.x * c];
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    m = fmaxf(m, x[blockIdx.x * c + i]);
  best[threadIdx.x] = m;
  for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + stride]);
  }
  __syncthreads();
  out[blockIdx.x] = best[0];
}
// --- row_max becomes
__global__ void row_max(float* out, const float* x, int c) {
  __shared__ float best[1024];
  float m = x[blockIdx.x * c];
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    m = fmaxf(m, x[blockIdx.x * c + i]);
  best[threadIdx.x] = m;
  if (blockDim.x % 32 == 0) {
    __syncthreads();
    float value = best[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
      value = fmaxf(value, __shfl_down_sync(0xffffffffu, value, offset));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
      best[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      value = threadIdx.x < blockDim.x / 32 ? best[threadIdx.x] : best[0];
      for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_down_sync(0xffffffffu, value, offset));
      }
      __syncwarp();
      if (threadIdx.x == 0) {
        best[0] = value;
      }
    }
    __syncthreads();
  } else {
    for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
      __syncthreads();
      if (threadIdx.x < stride) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + stride]);
    }
  }
  __syncthreads();
  out[blockIdx.x] = best[0];
}
// --- halved_sum applies
__global__ void halved_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            shared[tid] += shared[tid + s] * 0.5f;
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

void launch(float* out, const float* x, int rows, int n) {
    halved_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
// --- halved_sum becomes
__global__ void halved_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 16; s >>= 1) {
        if (tid < s) {
            shared[tid] += shared[tid + s] * 0.5f;
        }
        __syncthreads();
    }
    if (tid < 32) {
        float shared_value = shared[tid];
        for (int offset = 16; offset > 0; offset /= 2) {
            const float shared_other = __shfl_down_sync(0xffffffffu, shared_value, offset);
            shared_value += shared_other * 0.5f;
        }
        if (tid == 0) {
            shared[0] = shared_value;
        }
    }
    __syncthreads();
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

void launch(float* out, const float* x, int rows, int n) {
    halved_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
// --- block_sum refuses: before the last pair
__global__ void block_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

void launch(float* out, const float* x, int rows, int n) {
    block_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
// --- block_sum refuses: more than one dimension
__global__ void block_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

void launch(float* out, const float* x, int rows, int n) {
    block_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
// --- block_sum refuses: not at half of the block
__global__ void block_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = n / 2; s > 0; s >>= 1) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}

void launch(float* out, const float* x, int rows, int n) {
    block_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
// --- block_sum refuses: partial result
__global__ void block_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = shared[0] - shared[1];
    }
}

void launch(float* out, const float* x, int rows, int n) {
    block_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
// --- totals_by_tree applies
template <typename T, int THREADS>
__global__ void totals_by_tree(T* out, const T* x, int n) {
    __shared__ T part[THREADS];
    const int tid = threadIdx.x;
    T sum = 0;
    for (int i = tid; i < n; i += THREADS) { sum += x[blockIdx.x * n + i]; }
    part[tid] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    if (tid == 0) { out[blockIdx.x] = part[0]; }
}
void run(float* out, const float* x, int rows, int n) {
    totals_by_tree<float, 128><<<rows, 128>>>(out, x, n);
}
// --- totals_by_tree becomes
template <typename T, int THREADS>
__global__ void totals_by_tree(T* out, const T* x, int n) {
    __shared__ T part[THREADS];
    const int tid = threadIdx.x;
    T sum = 0;
    for (int i = tid; i < n; i += THREADS) { sum += x[blockIdx.x * n + i]; }
    part[tid] = sum;
    __syncthreads();
    {
        __syncthreads();
        T value = part[tid];
        for (int offset = 16; offset > 0; offset /= 2) {
            value = value + __shfl_down_sync(0xffffffffu, value, offset);
        }
        __syncthreads();
        if (tid % 32 == 0) {
            part[tid / 32] = value;
        }
        __syncthreads();
        if (tid < 32) {
            value = tid < blockDim.x / 32 ? part[tid] : 0;
            for (int offset = 16; offset > 0; offset /= 2) {
                value = value + __shfl_down_sync(0xffffffffu, value, offset);
            }
            __syncwarp();
            if (tid == 0) {
                part[0] = value;
            }
        }
        __syncthreads();
    }
    if (tid == 0) { out[blockIdx.x] = part[0]; }
}
void run(float* out, const float* x, int rows, int n) {
    totals_by_tree<float, 128><<<rows, 128>>>(out, x, n);
}
// --- totals_by_tree refuses: not at half of the block
#define THREADS 128
__global__ void totals_by_tree(float* out, const float* x, int n) {
    __shared__ float part[256];
    const int tid = threadIdx.x;
    part[tid] = x[blockIdx.x * n + tid];
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    if (tid == 0) { out[blockIdx.x] = part[0]; }
}
void run(float* out, const float* x, int rows, int n) { totals_by_tree<<<rows, 2 * THREADS>>>(out, x, n); }
// --- first_best applies
__global__ void first_best(int* where, const float* x, int n) {
    __shared__ float value[128];
    __shared__ int place[128];
    int tid = threadIdx.x;
    float best = -1.0f;
    int at = 0;
    for (int i = tid; i < n; i += blockDim.x) {
        float v = x[blockIdx.x * n + i];
        if (v > best) {
            best = v;
            at = i;
        }
    }
    value[tid] = best;
    place[tid] = at;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            const float other = value[tid + s];
            if (other > value[tid] || (other == value[tid] && place[tid + s] < place[tid])) {
                value[tid] = other;
                place[tid] = place[tid + s];
            }
        }
        __syncthreads();
    }
    if (tid == 0) {
        where[blockIdx.x] = place[0];
    }
}

void launch(int* where, const float* x, int rows, int n) {
    first_best<<<rows, 128>>>(where, x, n);
}
// --- first_best becomes
__global__ void first_best(int* where, const float* x, int n) {
    __shared__ float value[128];
    __shared__ int place[128];
    int tid = threadIdx.x;
    float best = -1.0f;
    int at = 0;
    for (int i = tid; i < n; i += blockDim.x) {
        float v = x[blockIdx.x * n + i];
        if (v > best) {
            best = v;
            at = i;
        }
    }
    value[tid] = best;
    place[tid] = at;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 16; s >>= 1) {
        if (tid < s) {
            const float other = value[tid + s];
            if (other > value[tid] || (other == value[tid] && place[tid + s] < place[tid])) {
                value[tid] = other;
                place[tid] = place[tid + s];
            }
        }
        __syncthreads();
    }
    if (tid < 32) {
        float value_value = value[tid];
        int place_value = place[tid];
        for (int offset = 16; offset > 0; offset /= 2) {
            const float value_other = __shfl_down_sync(0xffffffffu, value_value, offset);
            const int place_other = __shfl_down_sync(0xffffffffu, place_value, offset);
            const float other = value_other;
            if (other > value_value || (other == value_value && place_other < place_value)) {
                value_value = other;
                place_value = place_other;
            }
        }
        if (tid == 0) {
            value[0] = value_value;
            place[0] = place_value;
        }
    }
    __syncthreads();
    if (tid == 0) {
        where[blockIdx.x] = place[0];
    }
}

void launch(int* where, const float* x, int rows, int n) {
    first_best<<<rows, 128>>>(where, x, n);
}
// --- first_best refuses: is not a sum, maximum or minimum
// The step reads memory at a place that a lane beyond the stride does not have.
__global__ void first_best(int* where, const float* x, int n) {
    __shared__ float value[128];
    __shared__ int place[128];
    int tid = threadIdx.x;
    float best = -1.0f;
    int at = 0;
    for (int i = tid; i < n; i += blockDim.x) {
        float v = x[blockIdx.x * n + i];
        if (v > best) {
            best = v;
            at = i;
        }
    }
    value[tid] = best;
    place[tid] = at;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            const float other = value[tid + s];
            if (other > value[tid] || (other == value[tid] && x[place[tid + s]] < x[place[tid]])) {
                value[tid] = other;
                place[tid] = place[tid + s];
            }
        }
        __syncthreads();
    }
    if (tid == 0) {
        where[blockIdx.x] = place[0];
    }
}

void launch(int* where, const float* x, int rows, int n) {
    first_best<<<rows, 128>>>(where, x, n);
}
// --- first_best refuses: a power of two
__global__ void first_best(int* where, const float* x, int n) {
    __shared__ float value[128];
    __shared__ int place[128];
    int tid = threadIdx.x;
    float best = -1.0f;
    int at = 0;
    for (int i = tid; i < n; i += blockDim.x) {
        float v = x[blockIdx.x * n + i];
        if (v > best) {
            best = v;
            at = i;
        }
    }
    value[tid] = best;
    place[tid] = at;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            const float other = value[tid + s];
            if (other > value[tid] || (other == value[tid] && place[tid + s] < place[tid])) {
                value[tid] = other;
                place[tid] = place[tid + s];
            }
        }
        __syncthreads();
    }
    if (tid == 0) {
        where[blockIdx.x] = place[0];
    }
}

void launch(int* where, const float* x, int rows, int n) {
    first_best<<<rows, 96>>>(where, x, n);
}
// --- centred_squares applies
__global__ void centred_squares(float* out, const float* x, int n) {
    __shared__ float part[128];
    const int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = tid; i < n; i += 128) { sum += x[blockIdx.x * n + i]; }
    part[tid] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    const float mean = part[0] / n;
    __syncthreads();
    float squares = 0.0f;
    for (int i = tid; i < n; i += 128) {
        const float d = x[blockIdx.x * n + i] - mean;
        squares += d * d;
    }
    part[threadIdx.x] = squares;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    if (tid == 0) { out[blockIdx.x] = part[0]; }
}
void run(float* out, const float* x, int rows, int n) {
    centred_squares<<<rows, 128>>>(out, x, n);
}
// --- centred_squares becomes
__global__ void centred_squares(float* out, const float* x, int n) {
    __shared__ float part[128];
    const int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = tid; i < n; i += 128) { sum += x[blockIdx.x * n + i]; }
    part[tid] = sum;
    __syncthreads();
    {
        __syncthreads();
        float value = part[tid];
        for (int offset = 16; offset > 0; offset /= 2) {
            value = value + __shfl_down_sync(0xffffffffu, value, offset);
        }
        __syncthreads();
        if (tid % 32 == 0) {
            part[tid / 32] = value;
        }
        __syncthreads();
        if (tid < 32) {
            value = tid < blockDim.x / 32 ? part[tid] : 0;
            for (int offset = 16; offset > 0; offset /= 2) {
                value = value + __shfl_down_sync(0xffffffffu, value, offset);
            }
            __syncwarp();
            if (tid == 0) {
                part[0] = value;
            }
        }
        __syncthreads();
    }
    const float mean = part[0] / n;
    __syncthreads();
    float squares = 0.0f;
    for (int i = tid; i < n; i += 128) {
        const float d = x[blockIdx.x * n + i] - mean;
        squares += d * d;
    }
    part[threadIdx.x] = squares;
    __syncthreads();
    {
        __syncthreads();
        float value = part[tid];
        for (int offset = 16; offset > 0; offset /= 2) {
            value = value + __shfl_down_sync(0xffffffffu, value, offset);
        }
        __syncthreads();
        if (tid % 32 == 0) {
            part[tid / 32] = value;
        }
        __syncthreads();
        if (tid < 32) {
            value = tid < blockDim.x / 32 ? part[tid] : 0;
            for (int offset = 16; offset > 0; offset /= 2) {
                value = value + __shfl_down_sync(0xffffffffu, value, offset);
            }
            __syncwarp();
            if (tid == 0) {
                part[0] = value;
            }
        }
        __syncthreads();
    }
    if (tid == 0) { out[blockIdx.x] = part[0]; }
}
void run(float* out, const float* x, int rows, int n) {
    centred_squares<<<rows, 128>>>(out, x, n);
}
// --- conditional_squares refuses: partial result
// A thread beyond n leaves its element, which the shuffles have not summed to what the tree has.
__global__ void conditional_squares(float* out, const float* x, int n) {
    __shared__ float part[128];
    const int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = tid; i < n; i += 128) { sum += x[blockIdx.x * n + i]; }
    part[tid] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    const float mean = part[0] / n;
    __syncthreads();
    float squares = 0.0f;
    for (int i = tid; i < n; i += 128) {
        const float d = x[blockIdx.x * n + i] - mean;
        squares += d * d;
    }
    if (tid < n) { part[threadIdx.x] = squares; }
    __syncthreads();
    out[blockIdx.x * 128 + tid] = part[tid];
}
void run(float* out, const float* x, int rows, int n) {
    conditional_squares<<<rows, 128>>>(out, x, n);
}
// --- early_squares refuses: partial result
// A thread beyond n has left, and its element is what the tree has made of it.
__global__ void early_squares(float* out, const float* x, int n) {
    __shared__ float part[128];
    const int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = tid; i < n; i += 128) { sum += x[blockIdx.x * n + i]; }
    part[tid] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    const float mean = part[0] / n;
    __syncthreads();
    float squares = 0.0f;
    for (int i = tid; i < n; i += 128) {
        const float d = x[blockIdx.x * n + i] - mean;
        squares += d * d;
    }
    if (tid >= n) { return; }
    part[threadIdx.x] = squares;
    __syncthreads();
    out[blockIdx.x * 128 + tid] = part[127 - tid];
}
void run(float* out, const float* x, int rows, int n) {
    early_squares<<<rows, 128>>>(out, x, n);
}
// --- counted_tree refuses: used behind the tree
__global__ void counted_tree(float* out, const float* x) {
    __shared__ float part[128];
    const int tid = threadIdx.x;
    part[tid] = x[blockIdx.x * 128 + tid];
    __syncthreads();
    int s;
    for (s = 64; s > 0; s /= 2) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    if (tid == s) { out[blockIdx.x] = part[0]; }
}
void run(float* out, const float* x, int rows) { counted_tree<<<rows, 128>>>(out, x); }
