// --- shift applies
__global__ void shift(float* out, const float* x, float by, int n) {
    // One element for each thread.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        // Only what is there.
        out[i] = x[i] + by;
    }
}
void shift_all(float* out, const float* x, float by, int n) {
    const int blocks = (n + 255) / 256;
    shift<<<blocks, 256>>>(out, x, by, n);
}
// --- shift becomes
__global__ void shift(float* out, const float* x, float by, int n) {
    // One element for each thread.
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += stride) {
        int i = (int)element;
        // Only what is there.
        out[i] = x[i] + by;
    }
}
void shift_all(float* out, const float* x, float by, int n) {
    const int blocks = (n + 255) / 256;
    shift<<<blocks < 1024 ? blocks : 1024, 256>>>(out, x, by, n);
}
// --- clamp_columns applies
__global__ void clamp_columns(float* out, const float* x, float most, int rows, int columns) {
  unsigned int i = threadIdx.x + blockIdx.x * blockDim.x;
  const unsigned int all = rows * columns;
  const int column = i % columns;  // of its row
  if (i >= all) { return; }  // past the end

  if (column == 0) {
    out[i] = 0.0f;
    return;
  }
  // The first column stays.
  i = i + 0;
  for (int k = 0; k < 2; k++) {
    out[i] = fminf(x[i], most) * (k + 1);
  }
}
void clamp_all(float* out, const float* x, float most, int rows, int columns) {
  clamp_columns<<<rows * columns / 64 + 1, 64>>>(
      out, x, most, rows, columns);
}
// --- clamp_columns becomes
__global__ void clamp_columns(float* out, const float* x, float most, int rows, int columns) {
  const unsigned int all = rows * columns;
  const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long element = threadIdx.x + blockIdx.x * blockDim.x; element < all; element += stride) {
    unsigned int i = (unsigned int)element;
    const int column = i % columns;
    // past the end

    if (column == 0) {
      out[i] = 0.0f;
      continue;
    }
    // The first column stays.
    i = i + 0;
    for (int k = 0; k < 2; k++) {
      out[i] = fminf(x[i], most) * (k + 1);
    }
  }
}
void clamp_all(float* out, const float* x, float most, int rows, int columns) {
  clamp_columns<<<(rows * columns / 64 + 1) < 1024 ? (rows * columns / 64 + 1) : 1024, 64>>>(
      out, x, most, rows, columns);
}
// --- fill_planes applies
__global__ void fill_planes(float* out, float value, size_t n)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[blockIdx.y * n + i] = value;
}
void fill(float* out, float value, size_t n, int planes) {
    fill_planes<<<dim3((n + 127) / 128, planes), 128>>>(out, value, n);
}
// --- fill_planes becomes
__global__ void fill_planes(float* out, float value, size_t n)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        out[blockIdx.y * n + i] = value;
    }
}
void fill(float* out, float value, size_t n, int planes) {
    fill_planes<<<dim3((n + 127) / 128, planes), 128>>>(out, value, n);
}
// --- gates_of_all applies
__global__ void gates_of_all(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (!(n > i)) {
        return;
    }
    y[i] = 1.0f / (1.0f + expf(-x[i]));
}
void run(const float* x, float* y, int64_t n) { gates_of_all<<<(n + 127) / 128, 128>>>(x, y, n); }
// --- gates_of_all becomes
__global__ void gates_of_all(const float* x, float* y, int64_t n) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = 1.0f / (1.0f + expf(-x[i]));
    }
}
void run(const float* x, float* y, int64_t n) { gates_of_all<<<((n + 127) / 128) < 1024 ? ((n + 127) / 128) : 1024, 128>>>(x, y, n); }
// --- doubled applies
class Rows {
    float* data;
    int width;
  public:
    __host__ __device__ Rows(float* data, int width) : data(data), width(width) {}
    // What is private stays a call, which reads no more than the structure.
    __host__ __device__ float& at(int row, int column) { return data[row * width + column]; }
};
using index_t = long long;
__global__ void doubled(float* out, int width, index_t n) {
    Rows rows(out, width);
    const index_t i = blockIdx.x * (index_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    rows.at(i / width, i % width) *= 2;
}
void run(float* out, int width, long long n) { doubled<<<(n + 255) / 256, 256>>>(out, width, n); }
// --- doubled becomes
class Rows {
    float* data;
    int width;
  public:
    __host__ __device__ Rows(float* data, int width) : data(data), width(width) {}
    // What is private stays a call, which reads no more than the structure.
    __host__ __device__ float& at(int row, int column) { return data[row * width + column]; }
};
using index_t = long long;
__global__ void doubled(float* out, int width, index_t n) {
    Rows rows(out, width);
    const index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = blockIdx.x * (index_t)blockDim.x + threadIdx.x; i < n; i += stride) {
        rows.at(i / width, i % width) *= 2;
    }
}
void run(float* out, int width, long long n) { doubled<<<((n + 255) / 256) < 1024 ? ((n + 255) / 256) : 1024, 256>>>(out, width, n); }
// --- walk refuses: work together
__global__ void walk(float* out, const float* x, int* seen, int n) {
    __shared__ float last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { last = x[i]; out[i] = last; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: work together
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { while (atomicCAS(seen, 0, 1) != 0) { } out[0] += x[i]; atomicExch(seen, 0); }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: counts all threads
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = threadIdx.x;
    if (i < n) { out[i] = x[i]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: has another meaning
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[blockIdx.x * blockDim.x + threadIdx.x] = x[i]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: for one element and would be different
__global__ void walk(float* out, const float* x, int* seen, int n) {
    float sum = 0.0f;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { sum += x[i]; out[i] = sum; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: for one element and would be different
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { x += i; out[i] = x[0]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: is shared by a thread's elements
__global__ void walk(float* out, const float* x, int* seen, int n) {
    float both[2] = {0.0f, 0.0f};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { both[1] += x[i]; out[i] = both[1]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: one check of its bound
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = x[i]; }
    seen[0] = 1;
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: one check of its bound
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = x[i]; } else { seen[0] = i; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: stands before the check
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    if (i < n) { out[i] = v; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: there are fewer
__global__ void walk(float* out, const float* x, int* seen, int n) {
    atomicAdd(seen, 1);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = x[i]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: there are fewer
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = atomicAdd(seen, 1);
    if (i < n) { out[i] = x[i] + k; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: or behind it
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int last = i + n;
    if (i < last) { out[i] = x[i]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: read anew
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < seen[0]) { out[i] = x[i]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: leaves a loop within the work
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { for (int k = 0; k < n; k++) { if (x[k] > x[i]) { return; } } out[i] = 1.0f; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: no statement of its own
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i < n ? x[i] : 0.0f;
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: the macro HERE reads the grid
#define HERE (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[HERE] = x[i]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: place, which walk calls, reads the grid
__device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[place()] = x[i]; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: is not in this file
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = weighed(x[i]); }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: is used beside `i`
__global__ void walk(float* out, const float* x, int* seen, int n) {
    int b = blockIdx.x;
    int i = b * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = b; }
}
void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }
// --- walk refuses: for one element and would be different
struct Stream {
    unsigned state;
    __device__ unsigned next() { state = state * 1664525u + 1013904223u; return state; }
};
__global__ void walk(unsigned* out, Stream stream, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = stream.next() + i; }
}
void run(unsigned* out, Stream stream, int n) { walk<<<(n + 255) / 256, 256>>>(out, stream, n); }
// --- walk refuses: for one element and would be different
struct Three {
    float kept[3];
    __device__ float& operator[](int i) { return kept[i]; }
};
__global__ void walk(float* out, Three three, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        three[i % 3] += 1.0f;
        out[i] = three[0];
    }
}
void run(float* out, Three three, int n) { walk<<<(n + 255) / 256, 256>>>(out, three, n); }
