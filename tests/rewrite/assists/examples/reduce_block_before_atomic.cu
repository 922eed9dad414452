// --- grand_total applies
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(out, 2.0f * x[i]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total becomes
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own_value = 0.0f;
    if (i < n) {
        own_value = 2.0f * x[i];
    }
    __shared__ float block_sums[1024];
    block_sums[threadIdx.x] = own_value;
    for (unsigned int stride = 512; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride && threadIdx.x + stride < blockDim.x) {
            block_sums[threadIdx.x] += block_sums[threadIdx.x + stride];
        }
    }
    if (threadIdx.x == 0) {
        atomicAdd(out, block_sums[0]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- row_totals applies
__global__ void row_totals(int* out, const int* x, int C) {
  int row = blockIdx.x;
  int count = 0;
  for (int i = threadIdx.x; i < C; i += blockDim.x) { count += x[row * C + i]; }
  atomicAdd(&out[row], count);
}
// --- row_totals becomes
__global__ void row_totals(int* out, const int* x, int C) {
  int row = blockIdx.x;
  int count = 0;
  for (int i = threadIdx.x; i < C; i += blockDim.x) { count += x[row * C + i]; }
  int own_value = 0;
  own_value = count;
  const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  __shared__ int block_sums[1024];
  block_sums[thread] = own_value;
  for (unsigned int stride = 512; stride > 0; stride /= 2) {
    __syncthreads();
    if (thread < stride && thread + stride < blockDim.x * blockDim.y * blockDim.z) {
      block_sums[thread] += block_sums[thread + stride];
    }
  }
  if (thread == 0) {
    atomicAdd(&out[row], block_sums[0]);
  }
}
// --- grand_total refuses: may leave in line 4
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++) {
        if (x[k] < 0.0f) { return; }
        atomicAdd(out, 2.0f * x[i]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total refuses: no atomic addition here
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float old = atomicAdd(out, 2.0f * x[i]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total refuses: may leave in line 3
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n) { return; }
    int k = blockIdx.y;
    atomicAdd(&out[k], 2.0f * x[i]);
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total refuses: may leave in line 3
__global__ void grand_total(float* out, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n) { return; }
    atomicAdd(out, 2.0f * x[i]);
    x[i] = 0.0f;
}

void launch(float* out, float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total refuses: work together
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n) { return; }
    __syncthreads();
    atomicAdd(out, 2.0f * x[i]);
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total refuses: used at another place
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(out, out[1] * x[i]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total refuses: no atomic addition here
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(out + i % 2, 2.0f * x[i]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total refuses: may differ from thread to thread
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int k = blockIdx.x;
        atomicAdd(&out[k], 2.0f * x[i]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- grand_total refuses: is not known to point to
__global__ void grand_total(half* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(out, 2.0f * x[i]);
    }
}

void launch(half* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
// --- pair_losses applies
__global__ void pair_losses(float* out, const float* x, const int* scored, int n) {
    int row = blockIdx.y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= scored[row]) return;
    // What was not scored counts nothing.
    const float own = x[row * n + i];
    if (own < 0.0f) return;
    for (int j = 0; j < scored[row]; j++) {
        if (x[row * n + j] < own) {
            atomicAdd(&out[row], own - x[row * n + j]);
        }
    }
}

void launch(float* out, const float* x, const int* scored, int n, int rows) {
    pair_losses<<<dim3((n + 95) / 96, rows), 96>>>(out, x, scored, n);
}
// --- pair_losses becomes
__global__ void pair_losses(float* out, const float* x, const int* scored, int n) {
    int row = blockIdx.y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own_value = 0.0f;
    if (!(i >= scored[row])) {
        // What was not scored counts nothing.
        const float own = x[row * n + i];
        if (!(own < 0.0f)) {
            for (int j = 0; j < scored[row]; j++) {
                if (x[row * n + j] < own) {
                    own_value += own - x[row * n + j];
                }
            }
        }
    }
    __shared__ float block_sums[1024];
    block_sums[threadIdx.x] = own_value;
    for (unsigned int stride = 512; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride && threadIdx.x + stride < blockDim.x) {
            block_sums[threadIdx.x] += block_sums[threadIdx.x + stride];
        }
    }
    if (threadIdx.x == 0 && block_sums[0] != 0) {
        atomicAdd(&out[row], block_sums[0]);
    }
}

void launch(float* out, const float* x, const int* scored, int n, int rows) {
    pair_losses<<<dim3((n + 95) / 96, rows), 96>>>(out, x, scored, n);
}
