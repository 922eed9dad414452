// --- swap_axes applies
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) {
        out[x * rows + y] = in[y * cols + x];
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
// --- swap_axes becomes
__global__ void __launch_bounds__(256) swap_axes(const float* in, float* out, int rows, int cols) {
    // A block passes 64 x 64 elements on; padding puts a column of the tile into different banks.
    __shared__ float tile[64][65];
    const int lane = threadIdx.x % 64, line = threadIdx.x / 64;
    #pragma unroll
    for (int n = 0; n < 16; n++) {
        int x = blockIdx.x * 64 + lane;
        int y = blockIdx.y * 64 + line + n * 4;
        if (x < cols && y < rows) {
            tile[line + n * 4][lane] = in[y * cols + x];
        }
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 16; n++) {
        int y = blockIdx.y * 64 + lane;
        int x = blockIdx.x * 64 + line + n * 4;
        if (x < cols && y < rows) {
            out[x * rows + y] = tile[lane][line + n * 4];
        }
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 63) / 64, (rows + 63) / 64), 256>>>(in, out, rows, cols);
}
// --- from_columns applies
#include <cuda_fp16.h>

__global__ void from_columns(half* dst, const half* src, half* bias, float scale, int H, int W) {
  const int col = threadIdx.x + 32 * blockIdx.x;
  const int row = threadIdx.y + blockDim.y * blockIdx.y;
  if (row >= H || col >= W) return;
  float v = __half2float(src[col * H + row]) + __half2float(bias[row]);
  int to = row * W + col;
  dst[to] = __float2half(v * scale);
}

void launch(half* dst, const half* src, half* bias, float scale, int H, int W) {
  dim3 threads(32, 8);
  from_columns<<<dim3((W + 31) / 32, (H + 7) / 8), threads>>>(dst, src, bias, scale, H, W);
}
// --- from_columns becomes
#include <cuda_fp16.h>

__global__ void __launch_bounds__(256) from_columns(half* dst, const half* src, half* bias, float scale, int H, int W) {
  // A block passes 64 x 64 elements on; padding puts a column of the tile into different banks.
  __shared__ half tile[64][66];
  const int lane = threadIdx.x % 64, line = threadIdx.x / 64;
  #pragma unroll
  for (int n = 0; n < 16; n++) {
    int row = blockIdx.y * 64 + lane;
    int col = blockIdx.x * 64 + line + n * 4;
    if (!(row >= H || col >= W)) {
      float v = __half2float(src[col * H + row]) + __half2float(bias[row]);
      int to = row * W + col;
      tile[lane][line + n * 4] = __float2half(v * scale);
    }
  }
  __syncthreads();
  #pragma unroll
  for (int n = 0; n < 16; n++) {
    int col = blockIdx.x * 64 + lane;
    int row = blockIdx.y * 64 + line + n * 4;
    if (!(row >= H || col >= W)) {
      int to = row * W + col;
      dst[to] = tile[line + n * 4][lane];
    }
  }
}

void launch(half* dst, const half* src, half* bias, float scale, int H, int W) {
  dim3 threads(32, 8);
  from_columns<<<dim3((W + 63) / 64, (H + 63) / 64), 256>>>(dst, src, bias, scale, H, W);
}
// --- plus_turned applies
__global__ void plus_turned(float* sum, const float* p, const double* q, int m, int n) {
    unsigned row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (row >= m || col >= n) return;
    int from = col * m;
    const float other = (float)q[from + row];
    sum[row * n + col] = p[row * n + col] - 2.0f * other;
}

void launch(float* sum, const float* p, const double* q, int m, int n) {
    plus_turned<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8)>>>(sum, p, q, m, n);
}
// --- plus_turned becomes
__global__ void __launch_bounds__(256) plus_turned(float* sum, const float* p, const double* q, int m, int n) {
    // A block passes 64 x 64 elements on; padding puts a column of the tile into different banks.
    __shared__ double tile[64][65];
    const int lane = threadIdx.x % 64, line = threadIdx.x / 64;
    #pragma unroll
    for (int n_ = 0; n_ < 16; n_++) {
        unsigned row = blockIdx.y * 64 + lane;
        unsigned col = blockIdx.x * 64 + line + n_ * 4;
        if (!(row >= m || col >= n)) {
            int from = col * m;
            tile[lane][line + n_ * 4] = q[from + row];
        }
    }
    __syncthreads();
    #pragma unroll
    for (int n_ = 0; n_ < 16; n_++) {
        unsigned col = blockIdx.x * 64 + lane;
        unsigned row = blockIdx.y * 64 + line + n_ * 4;
        if (!(row >= m || col >= n)) {
            int from = col * m;
            const float other = (float)tile[line + n_ * 4][lane];
            sum[row * n + col] = p[row * n + col] - 2.0f * other;
        }
    }
}

void launch(float* sum, const float* p, const double* q, int m, int n) {
    plus_turned<<<dim3((n + 63) / 64, (m + 63) / 64), 256>>>(sum, p, q, m, n);
}
// --- plus_turned_layers applies
__global__ void plus_turned_layers(float* out, const float* a, const float* b, int height, int width) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int layer = blockIdx.z;
    int first = layer * height * width;
    if (row < height && col < width)
        out[first + row * width + col] = a[first + row * width + col] + b[first + col * height + row];
}
void run_plus_turned_layers(float* out, const float* a, const float* b, int layers, int height, int width) {
    dim3 grid((width + 15) / 16, (height + 15) / 16, layers);
    plus_turned_layers<<<grid, dim3(16, 16)>>>(out, a, b, height, width);
}
// --- plus_turned_layers becomes
__global__ void __launch_bounds__(256) plus_turned_layers(float* out, const float* a, const float* b, int height, int width) {
    int layer = blockIdx.z;
    int first = layer * height * width;
    // A block passes 64 x 64 elements on; padding puts a column of the tile into different banks.
    __shared__ float tile[64][65];
    const int lane = threadIdx.x % 64, line = threadIdx.x / 64;
    #pragma unroll
    for (int n = 0; n < 16; n++) {
        int row = blockIdx.y * 64 + lane;
        int col = blockIdx.x * 64 + line + n * 4;
        if (row < height && col < width) {
            tile[lane][line + n * 4] = b[first + col * height + row];
        }
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 16; n++) {
        int col = blockIdx.x * 64 + lane;
        int row = blockIdx.y * 64 + line + n * 4;
        if (row < height && col < width) {
            out[first + row * width + col] = a[first + row * width + col] + tile[line + n * 4][lane];
        }
    }
}
void run_plus_turned_layers(float* out, const float* a, const float* b, int layers, int height, int width) {
    dim3 grid((width + 15) / 16, (height + 15) / 16, layers);
    plus_turned_layers<<<dim3((width + 63) / 64, (height + 63) / 64, layers), 256>>>(out, a, b, height, width);
}
// --- scaled_turned applies
template <typename Real>
__global__ void scaled_turned(Real* __restrict__ out, const Real* __restrict__ in, Real alpha, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) { out[(size_t)x * rows + y] = alpha * in[(size_t)y * cols + x]; }
}
void turn(double* out, const double* in, int rows, int cols) {
    dim3 threads(32, 8);
    dim3 blocks((cols + 31) / 32, (rows + 7) / 8);
    scaled_turned<double><<<blocks, threads>>>(out, in, 1.5, rows, cols);
}
void turn(float* out, const float* in, int rows, int cols) {
    dim3 threads(32, 8);
    dim3 blocks((cols + 31) / 32, (rows + 7) / 8);
    scaled_turned<float><<<blocks, threads>>>(out, in, 1.5f, rows, cols);
}
// --- scaled_turned becomes
template <typename Real>
__global__ void __launch_bounds__(256) scaled_turned(Real* __restrict__ out, const Real* __restrict__ in, Real alpha, int rows, int cols) {
    // A block passes 64 x 64 elements on; padding puts a column of the tile into different banks.
    __shared__ Real tile[64][65];
    const int lane = threadIdx.x % 64, line = threadIdx.x / 64;
    #pragma unroll
    for (int n = 0; n < 16; n++) {
        int x = blockIdx.x * 64 + lane;
        int y = blockIdx.y * 64 + line + n * 4;
        if (x < cols && y < rows) {
            tile[line + n * 4][lane] = alpha * in[(size_t)y * cols + x];
        }
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 16; n++) {
        int y = blockIdx.y * 64 + lane;
        int x = blockIdx.x * 64 + line + n * 4;
        if (x < cols && y < rows) {
            out[(size_t)x * rows + y] = tile[lane][line + n * 4];
        }
    }
}
void turn(double* out, const double* in, int rows, int cols) {
    dim3 threads(32, 8);
    dim3 blocks((cols + 31) / 32, (rows + 7) / 8);
    scaled_turned<double><<<dim3((cols + 63) / 64, (rows + 63) / 64), 256>>>(out, in, 1.5, rows, cols);
}
void turn(float* out, const float* in, int rows, int cols) {
    dim3 threads(32, 8);
    dim3 blocks((cols + 31) / 32, (rows + 7) / 8);
    scaled_turned<float><<<dim3((cols + 63) / 64, (rows + 63) / 64), 256>>>(out, in, 1.5f, rows, cols);
}
// --- swap_axes refuses: does not tell its block
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) {
        out[x * rows + y] = in[y * cols + x];
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), block>>>(in, out, rows, cols);
}
// --- plus_turned refuses: several loads run across the rows
__global__ void plus_turned(float* sum, const float* p, const double* q, int m, int n) {
    unsigned row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (row >= m || col >= n) return;
    int from = col * m;
    const float other = (float)q[from + row];
    sum[row * n + col] = p[row * n + col] + q[col * m + row + n] - 2.0f * other;
}

void launch(float* sum, const float* p, const double* q, int m, int n) {
    plus_turned<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8)>>>(sum, p, q, m, n);
}
// --- swap_axes refuses: to declare values and to store one
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) {
        out[x * rows + y] += in[y * cols + x];
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
// --- swap_axes refuses: which thread does it
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) {
        out[x * rows + y] = in[y * cols + x] + threadIdx.x;
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
// --- swap_axes refuses: is read as well as written
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) {
        out[x * rows + y] = in[y * cols + x] + out[x * rows + y];
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
// --- swap_axes refuses: it is not known that one of load and store
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) {
        out[x * rows + 2 * y] = in[y * cols + x];
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
// --- swap_axes refuses: stands before the check
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    y += 1;
    if (x < cols && y < rows) {
        out[x * rows + y] = in[y * cols + x];
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
// --- scaled_turned refuses: is not told
// The types of a template's launch are its callers', which are not in this file.
template <typename Real>
__global__ void scaled_turned(Real* __restrict__ out, const Real* __restrict__ in, Real alpha, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) { out[(size_t)x * rows + y] = alpha * in[(size_t)y * cols + x]; }
}
template <typename Value>
void turn(Value* out, const Value* in, int rows, int cols) {
    dim3 threads(32, 8);
    dim3 blocks((cols + 31) / 32, (rows + 7) / 8);
    scaled_turned<Value><<<blocks, threads>>>(out, in, Value(2), rows, cols);
}
