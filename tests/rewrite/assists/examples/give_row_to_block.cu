// --- deviations applies
__global__ void deviations(float* out, float* spread, const float* x, int rows, int width) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float* mine = x + (size_t)r * width;
    float mean = 0.0f;
    for (int k = 0; k < width; ++k) mean += mine[k];
    mean = mean / width;
    float square = 0.0f, far = 0.0f;
    for (int k = 0; k < width; ++k) {
        const float away = mine[k] - mean;
        square += away * away;
        far = fmaxf(far, fabsf(away));
    }
    spread[r] = sqrtf(square / width);
    for (int k = 0; k < width; ++k) out[(size_t)r * width + k] = (mine[k] - mean) / (far + 0.5f);
}
void run(float* out, float* spread, const float* x, int rows, int width) {
    const int threads = 64;
    deviations<<<(rows + threads - 1) / threads, threads>>>(out, spread, x, rows, width);
}
// --- deviations becomes
__global__ void deviations(float* out, float* spread, const float* x, int rows, int width) {
    const unsigned int r = blockIdx.x;
    const int part = threadIdx.x;
    if (r >= rows) return;
    const float* mine = x + (size_t)r * width;
    float mean = 0.0f;
    for (int k = part; k < width; k += blockDim.x) mean += mine[k];
    for (int offset = 16; offset > 0; offset /= 2) {
        mean += __shfl_xor_sync(0xffffffffu, mean, offset);
    }
    __shared__ float mean_of_warps[32];
    if (threadIdx.x % 32 == 0) { mean_of_warps[threadIdx.x / 32] = mean; }
    __syncthreads();
    mean = mean_of_warps[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        mean += mean_of_warps[warp];
    }
    mean = mean / width;
    float square = 0.0f, far = 0.0f;
    for (int k = part; k < width; k += blockDim.x) {
        const float away = mine[k] - mean;
        square += away * away;
        far = fmaxf(far, fabsf(away));
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        far = fmaxf(far, __shfl_xor_sync(0xffffffffu, far, offset));
        square += __shfl_xor_sync(0xffffffffu, square, offset);
    }
    __shared__ float far_of_warps[32];
    __shared__ float square_of_warps[32];
    if (threadIdx.x % 32 == 0) { far_of_warps[threadIdx.x / 32] = far; square_of_warps[threadIdx.x / 32] = square; }
    __syncthreads();
    far = far_of_warps[0];
    square = square_of_warps[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        far = fmaxf(far, far_of_warps[warp]);
        square += square_of_warps[warp];
    }
    __syncthreads();
    if (part == 0) { spread[r] = sqrtf(square / width); }
    __syncthreads();
    for (int k = part; k < width; k += blockDim.x) out[(size_t)r * width + k] = (mine[k] - mean) / (far + 0.5f);
}
void run(float* out, float* spread, const float* x, int rows, int width) {
    const int threads = 64;
    deviations<<<((rows + threads - 1) / threads) * threads, 256>>>(out, spread, x, rows, width);
}
// --- gated_sums applies
__global__ void gated_sums(double* total, const double* x, const double* y, const int* live, int n, int m, int turns) {
  int at = threadIdx.x + blockDim.x * blockIdx.x;
  if (at < n) {
    double sum = total[at];
    for (int t = 0; t < turns; t++) {
      if (live[t] == 0) { continue; }
      double part = 0;
      for (int j = 0; j < m; j++) { part += x[at * m + j] * y[t * m + j]; }
      sum += part;
    }
    total[at] = sum;
  }
}
void all(double* total, const double* x, const double* y, const int* live, int n, int m, int turns) {
  dim3 block(96);
  dim3 grid((n + 95) / 96);
  gated_sums<<<grid, block>>>(total, x, y, live, n, m, turns);
}
// --- gated_sums becomes
__global__ void gated_sums(double* total, const double* x, const double* y, const int* live, int n, int m, int turns) {
  int at = blockIdx.x;
  const int part_ = threadIdx.x;
  if (at < n) {
    double sum = total[at];
    for (int t = 0; t < turns; t++) {
      if (live[t] == 0) { continue; }
      double part = 0;
      for (int j = part_; j < m; j += blockDim.x) { part += x[at * m + j] * y[t * m + j]; }
      for (int offset = 16; offset > 0; offset /= 2) {
        part += __shfl_xor_sync(0xffffffffu, part, offset);
      }
      __shared__ double part_of_warps[32];
      if (threadIdx.x % 32 == 0) { part_of_warps[threadIdx.x / 32] = part; }
      __syncthreads();
      part = part_of_warps[0];
      for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        part += part_of_warps[warp];
      }
      __syncthreads();
      sum += part;
    }
    __syncthreads();
    if (part_ == 0) { total[at] = sum; }
  }
}
void all(double* total, const double* x, const double* y, const int* live, int n, int m, int turns) {
  dim3 block(96);
  dim3 grid(((n + 95) / 96) * 96);
  gated_sums<<<grid, block>>>(total, x, y, live, n, m, turns);
}
// --- lowest_of_row applies
__global__ void lowest_of_row(int *__restrict__ lows, const int *__restrict__ x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        int low = 2147483647;
        for (int c = 0; c < columns; c++) {
            if (x[row * columns + c] < low) low = x[row * columns + c];
            lows[row * columns + c] = low;
        }
    }
}

void run(int *lows, const int *x, int rows, int columns) {
    lowest_of_row<<<(rows + 63) / 64, 64>>>(lows, x, rows, columns);
}
// --- lowest_of_row becomes
__global__ void lowest_of_row(int *__restrict__ lows, const int *__restrict__ x, int rows, int columns) {
    int row = blockIdx.x;
    const int part = threadIdx.x;
    if (row < rows) {
        int low = 2147483647;
        for (int first = 0; first < columns; first += 4 * (int)blockDim.x) {
            __shared__ int low_of_warps[32];
            int low_parts[4] = {low, low, low, low};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int c = first + step * (int)blockDim.x + part;
                if (c < columns) { if ((x[row * columns + c]) < low_parts[step]) { low_parts[step] = x[row * columns + c]; } }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first + step * (int)blockDim.x < columns)) { break; }
                const int c = first + step * (int)blockDim.x + part;
                int low_part = low_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const int other = __shfl_up_sync(0xffffffffu, low_part, offset);
                    if (threadIdx.x % 32 >= offset) { if (other < low_part) { low_part = other; } }
                }
                int low_before = low, low_whole = low;
                if (threadIdx.x % 32 == 31) { low_of_warps[threadIdx.x / 32] = low_part; }
                __syncthreads();
                for (int warp = 0; warp < (int)blockDim.x / 32; warp++) {
                    if (warp < (int)threadIdx.x / 32) { if (low_of_warps[warp] < low_before) { low_before = low_of_warps[warp]; } }
                    if (low_of_warps[warp] < low_whole) { low_whole = low_of_warps[warp]; }
                }
                __syncthreads();
                low_part = __shfl_up_sync(0xffffffffu, low_part, 1);
                if (threadIdx.x % 32 > 0) { if (low_part < low_before) { low_before = low_part; } }
                if (c < columns) {
                    int low = low_before;
                    if (x[row * columns + c] < low) low = x[row * columns + c];
                    lows[row * columns + c] = low;
                }
                low = low_whole;
            }
        }
    }
}

void run(int *lows, const int *x, int rows, int columns) {
    lowest_of_row<<<((rows + 63) / 64) * 64, 256>>>(lows, x, rows, columns);
}
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float v = 0.0f;
    for (int i = 0; i < C; i++) { v = 0.5f * v + x[row * C + i]; }
    out[row] = v;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: may be rounded in each round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    int sum = 0;
    for (int i = 0; i < C; i++) { sum += 0.5f * x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: may write what it is handed
__device__ void put(float* at, float v) { at[1] = v; }
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) { put(&out[row * C + i], x[row * C + i]); }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: writes memory on the way
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
    float v = out[row] += 1.0f;
    out[row] = v;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: changes `kept`
__global__ void along(int* out, int* at, const float* x, int rows, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < width; k++) sum += x[row * width + k];
    int kept = 0;
    if (sum > 1.0f) {
        at[row * 2 + kept++] = row;
    }
    out[row] = kept;
}
void run(int* out, int* at, const float* x, int rows, int width) {
    along<<<(rows + 63) / 64, 64>>>(out, at, x, rows, width);
}
// --- along refuses: both may lie in one buffer
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) { out[row * C + i] = x[row * C + i] - x[row * C + C - 1 - i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: another element
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) { out[row * C + i / 2] = x[row * C + i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: ends the loop early
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) { if (x[row * C + i] > 1.0f) { break; } out[row * C + i] = 0.0f; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: may change on the way
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < seen[row]; i++) { out[row * C + i] = x[row * C + i]; }
    for (int i = 0; i < C; i++) { out[row * C + i] += x[row * C + i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: does not count by one
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i += 2) { sum += x[row * C + i]; }
    out[row] = sum;
    for (int i = 0; i < C; i++) { out[row * C + i] = 0.0f + x[row * C + i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: tells a thread what others did
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
    int k = atomicAdd(seen, 1);
    out[row] += k;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: beside `row`
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
    out[row] += threadIdx.x;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: does not count by one
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
    int k = C;
    while (k > 0) { out[row] += k; k /= 2; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: no whole warps
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 100>>>(out, x, seen, N, C); }
// --- along refuses: not written at the launch
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) {
    dim3 grid = dim3((N + 127) / 128);
    along<<<grid, 128>>>(out, x, seen, N, C);
}
// --- along refuses: not written at the launch
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C, dim3 grid) {
    along<<<grid, 128>>>(out, x, seen, N, C);
}
// --- along refuses: work together
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- grid_of_norms applies
__global__ void grid_of_norms(float* out, const float* x, int N, int C) {
    int stride = gridDim.x * blockDim.x;
    #pragma unroll 1
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < N; row += stride) {
        float sum = 0.0f;
        for (int i = 0; i < C; i++) { sum += x[row * C + i] * x[row * C + i]; }
        for (int i = 0; i < C; i++) { out[row * C + i] = x[row * C + i] * rsqrtf(sum / C + 1e-5f); }
    }
}
void run(float* out, const float* x, int N, int C) {
    int blocks = min((N + 127) / 128, 132);
    grid_of_norms<<<blocks, 128>>>(out, x, N, C);
}
// --- grid_of_norms becomes
__global__ void grid_of_norms(float* out, const float* x, int N, int C) {
    const int part = threadIdx.x;
    #pragma unroll 1
    for (int row = blockIdx.x; row < N; row += gridDim.x) {
        float sum = 0.0f;
        for (int i = part; i < C; i += blockDim.x) { sum += x[row * C + i] * x[row * C + i]; }
        for (int offset = 16; offset > 0; offset /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        __shared__ float sum_of_warps[32];
        if (threadIdx.x % 32 == 0) { sum_of_warps[threadIdx.x / 32] = sum; }
        __syncthreads();
        sum = sum_of_warps[0];
        for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
            sum += sum_of_warps[warp];
        }
        __syncthreads();
        __syncthreads();
        for (int i = part; i < C; i += blockDim.x) { out[row * C + i] = x[row * C + i] * rsqrtf(sum / C + 1e-5f); }
        __syncthreads();
    }
}
void run(float* out, const float* x, int N, int C) {
    int blocks = min((N + 127) / 128, 132);
    grid_of_norms<<<blocks * 128, 256>>>(out, x, N, C);
}
// --- along refuses: `threadIdx` tells a thread or the grid beside `row`
__global__ void along(float* out, const float* x, int N, int C) {
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < N; row += gridDim.x * blockDim.x) {
        float sum = 0.0f;
        for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
        out[row] = sum + threadIdx.x;
    }
}
void run(float* out, const float* x, int N, int C) { along<<<132, 128>>>(out, x, N, C); }
// --- along refuses: `stride` tells a thread or the grid beside `row`
__global__ void along(float* out, const float* x, int N, int C) {
    int stride = gridDim.x * blockDim.x;
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < N; row += stride) {
        float sum = 0.0f;
        for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
        out[row] = sum + stride;
    }
}
void run(float* out, const float* x, int N, int C) { along<<<132, 128>>>(out, x, N, C); }
// --- norms_along_y applies
__global__ void norms_along_y(float *y, const float *x, const float *gain, int rows, int width, float eps) {
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows) {
        float squares = 0.0f;
        for (int k = 0; k < width; ++k) squares += x[r * width + k] * x[r * width + k];
        const float scale = rsqrtf(squares / width + eps);
        for (int k = 0; k < width; ++k) y[r * width + k] = x[r * width + k] * scale * gain[k];
    }
}
void run(float *y, const float *x, const float *gain, int rows, int width, float eps) {
    dim3 block(1, 64), grid(1, (rows + 63) / 64);
    norms_along_y<<<grid, block>>>(y, x, gain, rows, width, eps);
}
// --- norms_along_y becomes
__global__ void norms_along_y(float *y, const float *x, const float *gain, int rows, int width, float eps) {
    const int r = blockIdx.x;
    const int part = threadIdx.x;
    if (r < rows) {
        float squares = 0.0f;
        for (int k = part; k < width; k += blockDim.x) squares += x[r * width + k] * x[r * width + k];
        for (int offset = 16; offset > 0; offset /= 2) {
            squares += __shfl_xor_sync(0xffffffffu, squares, offset);
        }
        __shared__ float squares_of_warps[32];
        if (threadIdx.x % 32 == 0) { squares_of_warps[threadIdx.x / 32] = squares; }
        __syncthreads();
        squares = squares_of_warps[0];
        for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
            squares += squares_of_warps[warp];
        }
        const float scale = rsqrtf(squares / width + eps);
        __syncthreads();
        for (int k = part; k < width; k += blockDim.x) y[r * width + k] = x[r * width + k] * scale * gain[k];
    }
}
void run(float *y, const float *x, const float *gain, int rows, int width, float eps) {
    dim3 block(256, 1), grid(((rows + 63) / 64) * 64, 1);
    norms_along_y<<<grid, block>>>(y, x, gain, rows, width, eps);
}
// --- along refuses: has other threads along x
__global__ void along(float *y, const float *x, int rows, int width) {
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= rows) return;
    float total = 0.0f;
    for (int k = 0; k < width; ++k) { total += x[r * width + k]; }
    y[r] = total;
}
void run(float *y, const float *x, int rows, int width) {
    along<<<dim3(1, (rows + 31) / 32), dim3(8, 32)>>>(y, x, rows, width);
}
// --- sums_along_y applies
__global__ void sums_along_y(float *y, const float *x, int rows, int width) {
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= rows) return;
    float total = 0.0f;
    for (int k = 0; k < width; ++k) { total += x[r * width + k]; }
    y[r] = total;
}
void run(float *y, const float *x, int rows, int width) {
    const dim3 threads(1, 32);
    const dim3 blocks(1, (rows + threads.y - 1) / threads.y);
    sums_along_y<<<blocks, threads>>>(y, x, rows, width);
}
// --- sums_along_y becomes
__global__ void sums_along_y(float *y, const float *x, int rows, int width) {
    const int r = blockIdx.x;
    const int part = threadIdx.x;
    if (r >= rows) return;
    float total = 0.0f;
    for (int k = part; k < width; k += blockDim.x) { total += x[r * width + k]; }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, offset);
    }
    __shared__ float total_of_warps[32];
    if (threadIdx.x % 32 == 0) { total_of_warps[threadIdx.x / 32] = total; }
    __syncthreads();
    total = total_of_warps[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        total += total_of_warps[warp];
    }
    __syncthreads();
    if (part == 0) { y[r] = total; }
}
void run(float *y, const float *x, int rows, int width) {
    const dim3 threads(1, 32);
    const dim3 blocks(1, (rows + threads.y - 1) / threads.y);
    sums_along_y<<<((rows + threads.y - 1) / threads.y) * 32, 256>>>(y, x, rows, width);
}
// --- along refuses: uses blockDim beside `r`
__global__ void along(float *y, const float *x, int rows, int width) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float total = 0.0f;
    for (int k = 0; k < width; ++k) { total += x[r * width + k]; }
    y[r] = total / blockDim.x;
}
void run(float *y, const float *x, int rows, int width) {
    along<<<(rows + 31) / 32, 32>>>(y, x, rows, width);
}
// --- running_shares applies
__global__ void running_shares(float *so_far, const float *x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float total = 0.0f;
        for (int c = 0; c < columns; c++) {
            float v = fabsf(x[row * columns + c]);
            total += v;
            so_far[row * columns + c] = total;
        }
        float sum = 0.5f;
        for (int c = 0; c < columns; c++) {
            const float before = sum;
            sum = sum + so_far[row * columns + c];
            so_far[row * columns + c] = before / (total + 1.0f);
        }
        so_far[row * columns] = sum;
    }
}

void share(float *so_far, const float *x, int rows, int columns) {
    running_shares<<<(rows + 63) / 64, 64>>>(so_far, x, rows, columns);
}
// --- running_shares becomes
__global__ void running_shares(float *so_far, const float *x, int rows, int columns) {
    int row = blockIdx.x;
    const int part = threadIdx.x;
    if (row < rows) {
        float total = 0.0f;
        for (int first = 0; first < columns; first += 4 * (int)blockDim.x) {
            __shared__ float total_of_warps[32];
            float total_parts[4] = {};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int c = first + step * (int)blockDim.x + part;
                if (c < columns) { float v = fabsf(x[row * columns + c]); total_parts[step] = v; }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first + step * (int)blockDim.x < columns)) { break; }
                const int c = first + step * (int)blockDim.x + part;
                float total_part = total_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const float other = __shfl_up_sync(0xffffffffu, total_part, offset);
                    if (threadIdx.x % 32 >= offset) { total_part += other; }
                }
                float total_before = total, total_whole = total;
                if (threadIdx.x % 32 == 31) { total_of_warps[threadIdx.x / 32] = total_part; }
                __syncthreads();
                for (int warp = 0; warp < (int)blockDim.x / 32; warp++) {
                    if (warp < (int)threadIdx.x / 32) { total_before += total_of_warps[warp]; }
                    total_whole += total_of_warps[warp];
                }
                __syncthreads();
                total_part = __shfl_up_sync(0xffffffffu, total_part, 1);
                if (threadIdx.x % 32 > 0) { total_before += total_part; }
                if (c < columns) {
                    float total = total_before;
                    float v = fabsf(x[row * columns + c]);
                    total += v;
                    so_far[row * columns + c] = total;
                }
                total = total_whole;
            }
        }
        __syncthreads();
        float sum = 0.5f;
        for (int first = 0; first < columns; first += 4 * (int)blockDim.x) {
            __shared__ float sum_of_warps[32];
            float sum_parts[4] = {};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int c = first + step * (int)blockDim.x + part;
                if (c < columns) { sum_parts[step] = so_far[row * columns + c]; }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first + step * (int)blockDim.x < columns)) { break; }
                const int c = first + step * (int)blockDim.x + part;
                float sum_part = sum_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const float other = __shfl_up_sync(0xffffffffu, sum_part, offset);
                    if (threadIdx.x % 32 >= offset) { sum_part += other; }
                }
                float sum_before = sum, sum_whole = sum;
                if (threadIdx.x % 32 == 31) { sum_of_warps[threadIdx.x / 32] = sum_part; }
                __syncthreads();
                for (int warp = 0; warp < (int)blockDim.x / 32; warp++) {
                    if (warp < (int)threadIdx.x / 32) { sum_before += sum_of_warps[warp]; }
                    sum_whole += sum_of_warps[warp];
                }
                __syncthreads();
                sum_part = __shfl_up_sync(0xffffffffu, sum_part, 1);
                if (threadIdx.x % 32 > 0) { sum_before += sum_part; }
                if (c < columns) {
                    float sum = sum_before;
                    const float before = sum;
                    sum = sum + so_far[row * columns + c];
                    so_far[row * columns + c] = before / (total + 1.0f);
                }
                sum = sum_whole;
            }
        }
        __syncthreads();
        if (part == 0) { so_far[row * columns] = sum; }
    }
}

void share(float *so_far, const float *x, int rows, int columns) {
    running_shares<<<((rows + 63) / 64) * 64, 256>>>(so_far, x, rows, columns);
}
// --- suffix_sums applies
__global__ void suffix_sums(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float sum = 0.0f;
        for (int i = C - 1; i >= 0; --i) {
            sum += x[row * C + i];
            out[row * C + i] = sum;
        }
    }
}
void run(float* out, const float* x, int N, int C) { suffix_sums<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- suffix_sums becomes
__global__ void suffix_sums(float* out, const float* x, int N, int C) {
    int row = blockIdx.x;
    const int part = threadIdx.x;
    if (row < N) {
        float sum = 0.0f;
        for (int first = C - 1; first >= 0; first -= 4 * (int)blockDim.x) {
            __shared__ float sum_of_warps[32];
            float sum_parts[4] = {};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int i = first - step * (int)blockDim.x - part;
                if (i >= 0) { sum_parts[step] = x[row * C + i]; }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first - step * (int)blockDim.x >= 0)) { break; }
                const int i = first - step * (int)blockDim.x - part;
                float sum_part = sum_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const float other = __shfl_up_sync(0xffffffffu, sum_part, offset);
                    if (threadIdx.x % 32 >= offset) { sum_part += other; }
                }
                float sum_before = sum, sum_whole = sum;
                if (threadIdx.x % 32 == 31) { sum_of_warps[threadIdx.x / 32] = sum_part; }
                __syncthreads();
                for (int warp = 0; warp < (int)blockDim.x / 32; warp++) {
                    if (warp < (int)threadIdx.x / 32) { sum_before += sum_of_warps[warp]; }
                    sum_whole += sum_of_warps[warp];
                }
                __syncthreads();
                sum_part = __shfl_up_sync(0xffffffffu, sum_part, 1);
                if (threadIdx.x % 32 > 0) { sum_before += sum_part; }
                if (i >= 0) {
                    float sum = sum_before;
                    sum += x[row * C + i];
                    out[row * C + i] = sum;
                }
                sum = sum_whole;
            }
        }
    }
}
void run(float* out, const float* x, int N, int C) { suffix_sums<<<((N + 127) / 128) * 128, 256>>>(out, x, N, C); }
// --- standardised_cells applies
__global__ void standardised_cells(float* out, const float* x, const float* gain, int rows, int width) {
    int line = blockIdx.y * blockDim.y + threadIdx.y;
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= rows || cell >= width) return;
    const float here = x[line * width + cell];
    float mean = 0.0f, square = 0.0f;
    for (int k = 0; k < width; ++k) mean += x[line * width + k];
    mean /= width;
    // how far the row is spread
    for (int k = 0; k < width; ++k) square += (x[line * width + k] - mean) * (x[line * width + k] - mean);
    const float scale = rsqrtf(square / width + 1e-5f);
    if (gain[cell] != 0.0f) {
        out[line * width + cell] = (here - mean) * scale * gain[cell];
    } else {
        out[line * width + cell] = 0.0f;
    }
}
void run(float* out, const float* x, const float* gain, int rows, int width) {
    dim3 block(16, 8);
    dim3 grid((width + 15) / 16, (rows + 7) / 8);
    standardised_cells<<<grid, block>>>(out, x, gain, rows, width);
}
// --- standardised_cells becomes
__global__ void standardised_cells(float* out, const float* x, const float* gain, int rows, int width) {
    int line = blockIdx.x;
    const int part = threadIdx.x;
    if (line >= rows) { return; }
    float mean = 0.0f, square = 0.0f;
    for (int k = part; k < width; k += blockDim.x) mean += x[line * width + k];
    for (int offset = 16; offset > 0; offset /= 2) {
        mean += __shfl_xor_sync(0xffffffffu, mean, offset);
    }
    __shared__ float mean_of_warps[32];
    if (threadIdx.x % 32 == 0) { mean_of_warps[threadIdx.x / 32] = mean; }
    __syncthreads();
    mean = mean_of_warps[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        mean += mean_of_warps[warp];
    }
    mean /= width;
    // how far the row is spread
    for (int k = part; k < width; k += blockDim.x) square += (x[line * width + k] - mean) * (x[line * width + k] - mean);
    for (int offset = 16; offset > 0; offset /= 2) {
        square += __shfl_xor_sync(0xffffffffu, square, offset);
    }
    __shared__ float square_of_warps[32];
    if (threadIdx.x % 32 == 0) { square_of_warps[threadIdx.x / 32] = square; }
    __syncthreads();
    square = square_of_warps[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        square += square_of_warps[warp];
    }
    const float scale = rsqrtf(square / width + 1e-5f);
    __syncthreads();
    for (int cell = part; cell < width; cell += blockDim.x) {
        const float here = x[line * width + cell];
        if (gain[cell] != 0.0f) {
            out[line * width + cell] = (here - mean) * scale * gain[cell];
        } else {
            out[line * width + cell] = 0.0f;
        }
    }
}
void run(float* out, const float* x, const float* gain, int rows, int width) {
    dim3 block(128, 1);
    dim3 grid(((rows + 127) / 128) * 128, 1);
    standardised_cells<<<grid, block>>>(out, x, gain, rows, width);
}
// --- wider_rows applies
__device__ float sampled(const float* row, float at, int n, int C, int c) {
    int i = min(max((int)at, 0), n - 1);
    return row[i * C + c];
}
__global__ void wider_rows(float* __restrict__ out, const float* __restrict__ x, int N, int W, int V, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    for (int v = 0; v < V; v++)
        for (int c = 0; c < C; c++)
            out[((size_t)row * V + v) * C + c] = sampled(x + row * W * C, (v + 0.5f) * W / V, W, C, c);
}
void run(float* out, const float* x, int N, int W, int V, int C) {
    wider_rows<<<(N + 63) / 64, 64>>>(out, x, N, W, V, C);
}
// --- wider_rows becomes
__device__ float sampled(const float* row, float at, int n, int C, int c) {
    int i = min(max((int)at, 0), n - 1);
    return row[i * C + c];
}
__global__ void wider_rows(float* __restrict__ out, const float* __restrict__ x, int N, int W, int V, int C) {
    int row = blockIdx.x;
    const int part = threadIdx.x;
    if (row >= N) return;
    for (int v = part; v < V; v += blockDim.x)
        for (int c = 0; c < C; c++)
            out[((size_t)row * V + v) * C + c] = sampled(x + row * W * C, (v + 0.5f) * W / V, W, C, c);
}
void run(float* out, const float* x, int N, int W, int V, int C) {
    wider_rows<<<((N + 63) / 64) * 64, 256>>>(out, x, N, W, V, C);
}
// --- smoothed_rows applies
__global__ void smoothed_rows(float* __restrict__ out, float* __restrict__ most, const float* __restrict__ x, int N, int C) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float top = 0.0f;
    for (int i = 0; i < C; i++) {
        float sum = 0.0f;
        for (int tap = -2; tap <= 2; tap++) {
            if (i + tap >= 0 && i + tap < C) { sum += x[row * C + i + tap]; }
        }
        out[row * C + i] = sum / 5;
        top = fmaxf(top, sum / 5);
    }
    most[row] = top;
}
// --- smoothed_rows becomes
__global__ void smoothed_rows(float* __restrict__ out, float* __restrict__ most, const float* __restrict__ x, int N, int C) {
    const int part = threadIdx.x;
    for (long long element = blockIdx.x; element < N; element += gridDim.x) {
        const int row = (int)element;
        float top = 0.0f;
        __syncthreads();
        for (int i = part; i < C; i += blockDim.x) {
            float sum = 0.0f;
            for (int tap = -2; tap <= 2; tap++) {
                if (i + tap >= 0 && i + tap < C) { sum += x[row * C + i + tap]; }
            }
            out[row * C + i] = sum / 5;
            top = fmaxf(top, sum / 5);
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
        }
        __shared__ float top_of_warps[32];
        if (threadIdx.x % 32 == 0) { top_of_warps[threadIdx.x / 32] = top; }
        __syncthreads();
        top = top_of_warps[0];
        for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
            top = fmaxf(top, top_of_warps[warp]);
        }
        __syncthreads();
        __syncthreads();
        __syncthreads();
        if (part == 0) { most[row] = top; }
        __syncthreads();
    }
}
