// --- affine applies
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    // One element for each thread.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void positive(float* z, const float* y, int count) {
    const int at = threadIdx.x + blockIdx.x * blockDim.x;
    if (at >= count) return;
    z[at] = y[at] > 0.0f ? y[at] : 0.0f;  // keeps what is positive
}

__global__ void weighted(float* z, const float* __restrict__ w, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        z[i] *= w[i];
    }
}

void chain(float* out, const float* x, const float* w, float a, float b, int n) {
    float* y = nullptr;
    cudaMalloc((void**)&y, n * sizeof(float));
    int blocks = (n + 255) / 256;
    affine<<<blocks, 256>>>(y, x, a, b, n);
    positive<<<blocks, 256>>>(out, y, n);
    cudaGetLastError();
    weighted<<<blocks, 256>>>(out, w, n);
    cudaFree(y);
}

int main() {
    int n = 1 << 20;
    float *x, *w, *out;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&w, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    chain(out, x, w, 1.5f, -0.25f, n);
    return 0;
}
// --- affine becomes fused_affine_positive_weighted
__global__ void fused_affine_positive_weighted(const float* x, float a, float b, int n, float* z,
                                               const float* w) {
    // One element for each thread.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float y = a * x[i] + b;
        const float z_value = y > 0.0f ? y : 0.0f;  // keeps what is positive
        z[i] = z_value * w[i];
    }
}

void chain(float* out, const float* x, const float* w, float a, float b, int n) {
    int blocks = (n + 255) / 256;
    cudaGetLastError();
    fused_affine_positive_weighted<<<blocks, 256>>>(x, a, b, n, out, w);
}

int main() {
    int n = 1 << 20;
    float *x, *w, *out;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&w, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    chain(out, x, w, 1.5f, -0.25f, n);
    return 0;
}
// --- row_largest applies
__global__ void row_largest(float* top, const float* x, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float largest = x[r * cols];
    for (int c = 1; c < cols; c++) largest = fmaxf(largest, x[r * cols + c]);
    top[r] = largest;
}

__global__ void row_total(float* total, const float* x, const float* top, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int c = 0; c < cols; c++) sum += expf(x[r * cols + c] - top[r]);
    total[r] = sum * 2.0f;
}

__global__ void row_shares(float* y, const float* x, const float* top, const float* total, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    for (int c = 0; c < cols; c++) y[r * cols + c] = expf(x[r * cols + c] - top[r]) / total[r];
}

void shares(float* y, float* top, const float* x, int rows, int cols) {
    float* total;
    cudaMalloc(&total, rows * sizeof(float));
    dim3 grid((rows + 127) / 128);
    row_largest<<<grid, 128>>>(top, x, rows, cols);
    row_total<<<grid, 128>>>(total, x, top, rows, cols);
    row_shares<<<grid, 128>>>(y, x, top, total, rows, cols);
    cudaFree(total);
}

int main() {
    int rows = 512, cols = 100;
    float *x, *y, *top;
    cudaMalloc(&x, rows * cols * sizeof(float));
    cudaMalloc(&y, rows * cols * sizeof(float));
    cudaMalloc(&top, rows * sizeof(float));
    shares(y, top, x, rows, cols);
    return 0;
}
// --- row_largest becomes fused_row_largest_row_total_row_shares
__global__ void fused_row_largest_row_total_row_shares(float* top, const float* x, int rows,
                                                       int cols, float* y) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float largest = x[r * cols];
    for (int c = 1; c < cols; c++) largest = fmaxf(largest, x[r * cols + c]);
    top[r] = largest;
    float sum = 0.0f;
    for (int c = 0; c < cols; c++) sum += expf(x[r * cols + c] - largest);
    const float total = sum * 2.0f;
    for (int c = 0; c < cols; c++) y[r * cols + c] = expf(x[r * cols + c] - largest) / total;
}

void shares(float* y, float* top, const float* x, int rows, int cols) {
    dim3 grid((rows + 127) / 128);
    fused_row_largest_row_total_row_shares<<<grid, 128>>>(top, x, rows, cols, y);
}

int main() {
    int rows = 512, cols = 100;
    float *x, *y, *top;
    cudaMalloc(&x, rows * cols * sizeof(float));
    cudaMalloc(&y, rows * cols * sizeof(float));
    cudaMalloc(&top, rows * sizeof(float));
    shares(y, top, x, rows, cols);
    return 0;
}
// --- add_row applies
__global__ void add_row(float* plane, const float* row, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) plane[y * width + x] += row[x];
}

__global__ void clipped(unsigned char* out, const float* plane, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < height && x < width) {
        float v = plane[y * width + x];
        out[y * width + x] = v < 0.0f ? 0 : (v > 255.0f ? 255 : (unsigned char)v);
    }
}

void brighten(unsigned char* out, float* plane, const float* row, int width, int height) {
    dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8);
    add_row<<<grid, block>>>(plane, row, width, height);
    clipped<<<grid, block>>>(out, plane, width, height);
}

int main() {
    int width = 640, height = 480;
    unsigned char* out;
    float *plane, *row;
    cudaMalloc(&out, width * height);
    cudaMalloc(&plane, width * height * sizeof(float));
    cudaMalloc(&row, width * sizeof(float));
    brighten(out, plane, row, width, height);
    return 0;
}
// --- add_row becomes fused_add_row_clipped
__global__ void fused_add_row_clipped(float* plane, const float* row, int width, int height,
                                      unsigned char* out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        plane[y * width + x] += row[x];
        float v = plane[y * width + x];
        out[y * width + x] = v < 0.0f ? 0 : (v > 255.0f ? 255 : (unsigned char)v);
    }
}

void brighten(unsigned char* out, float* plane, const float* row, int width, int height) {
    dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8);
    fused_add_row_clipped<<<grid, block>>>(plane, row, width, height, out);
}

int main() {
    int width = 640, height = 480;
    unsigned char* out;
    float *plane, *row;
    cudaMalloc(&out, width * height);
    cudaMalloc(&plane, width * height * sizeof(float));
    cudaMalloc(&row, width * sizeof(float));
    brighten(out, plane, row, width, height);
    return 0;
}
// --- first_moment applies
__global__ void first_moment(float* m, const float* g, float keep, int n) {
    const int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n) return;
    m[i] = keep * m[i] + (1.0f - keep) * g[i];
}

__global__ void step(float* p, const float* m, float rate, int n) {
    const int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n) return;
    p[i] -= rate * m[i];
}

void momentum(float* p, float* m, const float* g, float keep, float rate, int n) {
    first_moment<<<(n + 255) / 256, 256>>>(m, g, keep, n);
    step<<<(n + 255) / 256, 256>>>(p, m, rate, n);
}

int main() {
    int n = 1 << 20;
    float *p, *m, *g;
    cudaMalloc(&p, n * sizeof(float));
    cudaMalloc(&m, n * sizeof(float));
    cudaMalloc(&g, n * sizeof(float));
    momentum(p, m, g, 0.9f, 0.01f, n);
    return 0;
}
// --- first_moment becomes fused_first_moment_step
__global__ void fused_first_moment_step(float* m, const float* g, float keep, int n, float* p,
                                        float rate) {
    const int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n) return;
    const float m_value = keep * m[i] + (1.0f - keep) * g[i];
    m[i] = m_value;
    p[i] -= rate * m_value;
}

void momentum(float* p, float* m, const float* g, float keep, float rate, int n) {
    fused_first_moment_step<<<(n + 255) / 256, 256>>>(m, g, keep, n, p, rate);
}

int main() {
    int n = 1 << 20;
    float *p, *m, *g;
    cudaMalloc(&p, n * sizeof(float));
    cudaMalloc(&m, n * sizeof(float));
    cudaMalloc(&g, n * sizeof(float));
    momentum(p, m, g, 0.9f, 0.01f, n);
    return 0;
}
// --- scaled_rows applies
template <typename T>
__global__ void scaled_rows(const T* __restrict__ x, const float* __restrict__ s, T* __restrict__ t, int n, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) t[i] = static_cast<T>(static_cast<float>(x[i]) * s[i / cols]);
}

template <typename T>
__global__ void squashed(const T* __restrict__ t, T* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = static_cast<T>(tanhf(static_cast<float>(t[i])));
    }
}

torch::Tensor squash(torch::Tensor x, torch::Tensor s) {
    auto t = torch::empty_like(x);
    auto y = torch::empty_like(x);
    int n = x.numel(), cols = x.size(1);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "squash", [&] {
        scaled_rows<scalar_t><<<(n + 255) / 256, 256>>>(
            x.data_ptr<scalar_t>(), s.data_ptr<float>(), t.data_ptr<scalar_t>(), n, cols);
        squashed<scalar_t><<<(n + 255) / 256, 256>>>(t.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    });
    return y;
}
// --- scaled_rows becomes fused_scaled_rows_squashed
template <typename T>
__global__ void fused_scaled_rows_squashed(const T* x, const float* s, int n, int cols, T* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const T t = static_cast<T>(static_cast<float>(x[i]) * s[i / cols]);
        y[i] = static_cast<T>(tanhf(static_cast<float>(t)));
    }
}

torch::Tensor squash(torch::Tensor x, torch::Tensor s) {
    auto y = torch::empty_like(x);
    int n = x.numel(), cols = x.size(1);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "squash", [&] {
        fused_scaled_rows_squashed<scalar_t><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), s.data_ptr<float>(), n, cols, y.data_ptr<scalar_t>());
    });
    return y;
}
// --- shifted applies
__global__ void shifted(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}
__global__ void positive(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = fmaxf(y[i], 0.0f);
}
int run(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaError_t err = cudaMalloc(&y, n * sizeof(float));
    if (err != cudaSuccess) return 1;
    shifted<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    positive<<<(n + 255) / 256, 256>>>(z, y, n);
    if (cudaFree(y) != cudaSuccess) { return 2; } else { return 0; }
}
// --- shifted becomes fused_shifted_positive
__global__ void fused_shifted_positive(const float* x, float a, float b, int n, float* z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float y = a * x[i] + b;
        z[i] = fmaxf(y, 0.0f);
    }
}
int run(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaError_t err = cudaMalloc(&y, n * sizeof(float));
    if (err != cudaSuccess) return 1;
    fused_shifted_positive<<<(n + 255) / 256, 256>>>(x, a, b, n, z);
    if (cudaFree(y) != cudaSuccess) { return 2; } else { return 0; }
}
// --- lengths applies
__global__ void lengths(float* d, const float* x, const float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        d[i] = sqrtf(x[i] * x[i] + y[i] * y[i]);
}

__global__ void limited(float* z, const float* d, float most, int n) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        z[k] = fminf(d[k], most);
    }
}

void limited_lengths(float* z, const float* x, const float* y, float most, int n) {
    float* d;
    cudaMalloc(&d, n * sizeof(float));
    lengths<<<264, 256>>>(d, x, y, n);
    limited<<<264, 256>>>(z, d, most, n);
    cudaFree(d);
}

int main() {
    int n = 1 << 20;
    float *x, *y, *z;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMalloc(&z, n * sizeof(float));
    limited_lengths(z, x, y, 1.0f, n);
    return 0;
}
// --- lengths becomes fused_lengths_limited
__global__ void fused_lengths_limited(const float* x, const float* y, int n, float* z, float most) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float d = sqrtf(x[i] * x[i] + y[i] * y[i]);
        z[i] = fminf(d, most);
    }
}

void limited_lengths(float* z, const float* x, const float* y, float most, int n) {
    fused_lengths_limited<<<264, 256>>>(x, y, n, z, most);
}

int main() {
    int n = 1 << 20;
    float *x, *y, *z;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMalloc(&z, n * sizeof(float));
    limited_lengths(z, x, y, 1.0f, n);
    return 0;
}
// --- gate_by_sigmoid applies
#include <torch/extension.h>

__global__ void gate_by_sigmoid(float* gate, const float* x, const float* y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gate[i] = y[i] / (1.0f + expf(-x[i]));
}

__global__ void weighted(float* out, const float* gate, const float* w, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = gate[i] * w[i];
}

torch::Tensor gated_weights(torch::Tensor x, const torch::Tensor& y, torch::Tensor w) {
    auto left = x.contiguous();
    const auto right = y.contiguous().view({-1});
    torch::Tensor weight = w.contiguous();
    auto gate = torch::empty_like(left);
    auto out = torch::empty_like(left);
    const int64_t n = left.numel();
    const int64_t blocks = (n + 127) / 128;
    gate_by_sigmoid<<<blocks, 128>>>(gate.data_ptr<float>(), left.data_ptr<float>(), right.data_ptr<float>(), n);
    weighted<<<blocks, 128>>>(out.data_ptr<float>(), gate.data_ptr<float>(), weight.data_ptr<float>(), n);
    return out;
}
// --- gate_by_sigmoid becomes fused_gate_by_sigmoid_weighted
#include <torch/extension.h>

__global__ void fused_gate_by_sigmoid_weighted(const float* x, const float* y, int64_t n, float* out,
                                               const float* w) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float gate = y[i] / (1.0f + expf(-x[i]));
        out[i] = gate * w[i];
    }
}

torch::Tensor gated_weights(torch::Tensor x, const torch::Tensor& y, torch::Tensor w) {
    auto left = x.contiguous();
    const auto right = y.contiguous().view({-1});
    torch::Tensor weight = w.contiguous();
    auto out = torch::empty_like(left);
    const int64_t n = left.numel();
    const int64_t blocks = (n + 127) / 128;
    fused_gate_by_sigmoid_weighted<<<blocks, 128>>>(left.data_ptr<float>(), right.data_ptr<float>(), n, out.data_ptr<float>(), weight.data_ptr<float>());
    return out;
}
// --- affine refuses: a thread of next may touch by `y[i - 1]` what another thread of affine touches by `y[i]`
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = i == 0 ? 0.0f : y[i] - y[i - 1];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: with the same grid and block
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = 2.0f * y[i];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    next<<<(n + 127) / 128, 128>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: affine works where `i < n` says so and next where `i < n - 1` does
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) z[i] = 2.0f * y[i];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: line 15 may need what affine leaves in `y`
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = 2.0f * y[i];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    cudaMemcpy(z, y, sizeof(float), cudaMemcpyDeviceToHost);
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: line 15 changes what the launches of affine and next are given
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = 2.0f * y[i];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    n = n / 2;
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: line 15 stands between the launches of affine and next
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = 2.0f * y[i];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    if (n > 5) return;
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: `y + 1` is not a buffer from its start
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = 2.0f * y[i];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    next<<<(n + 255) / 256, 256>>>(z, y + 1, n);
    cudaFree(y);
}
// --- affine refuses: touches by `x[i]`, where both are one buffer
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[n - 1 - i] = 2.0f * y[i];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: threads of next work together (`__shared__`)
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { part[threadIdx.x] = y[i]; z[i] = part[threadIdx.x]; }
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: `__ldg(&y[i])` may read what lay there before the kernel began
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = 2.0f * __ldg(&y[i]);
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- affine refuses: next changes `n`, which it is given
__global__ void affine(float* y, const float* x, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

__global__ void next(float* z, const float* y, int n) {
    n = n / 2;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = y[i];
}

void chain(float* z, const float* x, float a, float b, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    affine<<<(n + 255) / 256, 256>>>(y, x, a, b, n);
    next<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
// --- halved refuses: the return in line 4 would leave out the work of doubled
__global__ void halved(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (x[i] < 0.0f) return;
        y[i] = 0.5f * x[i];
    }
}

__global__ void doubled(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * y[i];
}

void there_and_back(float* y, const float* x, int n) {
    halved<<<(n + 255) / 256, 256>>>(y, x, n);
    doubled<<<(n + 255) / 256, 256>>>(y, n);
}
// --- taken refuses: may come to something else once taken has done its work
__global__ void taken(float* y, int* open, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && open[i]) {
        y[i] = x[i];
        open[i] = 0;
    }
}

__global__ void doubled(float* y, const int* open, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && open[i]) {
        y[i] = 2.0f * y[i];
    }
}

void both(float* y, int* open, const float* x, int n) {
    taken<<<(n + 255) / 256, 256>>>(y, open, x, n);
    doubled<<<(n + 255) / 256, 256>>>(y, open, n);
}
// --- squares refuses: a thread of ahead may touch by `x[next]` what another thread of squares touches by `x[i]`
__global__ void squares(float* d, const float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        d[i] = x[i] * x[i];
}
__global__ void ahead(float* x, const float* d, int n) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        int next = k + gridDim.x * blockDim.x;
        if (next < n) x[next] = d[k];
    }
}
void run(float* x, float* d, int n) {
    squares<<<264, 256>>>(d, x, n);
    ahead<<<264, 256>>>(x, d, n);
}
// --- gate_by_sigmoid refuses: nothing tells where `left` lies
#include <torch/extension.h>

__global__ void gate_by_sigmoid(float* gate, const float* x, const float* y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gate[i] = y[i] / (1.0f + expf(-x[i]));
}

__global__ void weighted(float* out, const float* gate, const float* w, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = gate[i] * w[i];
}

torch::Tensor gated_weights(torch::Tensor x, const torch::Tensor& y, torch::Tensor w) {
    auto left = picked(x);
    const auto right = y.contiguous().view({-1});
    torch::Tensor weight = w.contiguous();
    auto gate = torch::empty_like(left);
    auto out = torch::empty_like(left);
    const int64_t n = left.numel();
    const int64_t blocks = (n + 127) / 128;
    gate_by_sigmoid<<<blocks, 128>>>(gate.data_ptr<float>(), left.data_ptr<float>(), right.data_ptr<float>(), n);
    weighted<<<blocks, 128>>>(out.data_ptr<float>(), gate.data_ptr<float>(), weight.data_ptr<float>(), n);
    return out;
}
