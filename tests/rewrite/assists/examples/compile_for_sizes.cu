// --- blur applies
__global__ void blur(float* out, const float* in, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int at = i + k;
        if (at >= 0 && at < n) sum += in[at];
    }
    out[i] = sum / (2 * radius + 1);
}

void blurred(float* out, const float* in, int n) {
    const int radius = 3;
    blur<<<(n + 255) / 256, 256>>>(out, in, n, radius);
}
// --- blur becomes
__device__ __forceinline__ void blur_with(float* out, const float* in, int n, int radius)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int at = i + k;
        if (at >= 0 && at < n) sum += in[at];
    }
    out[i] = sum / (2 * radius + 1);
}

__global__ void blur(float* out, const float* in, int n, int radius) {
    if (radius == 3) {
        blur_with(out, in, n, 3);
    } else {
        blur_with(out, in, n, radius);
    }
}

void blurred(float* out, const float* in, int n) {
    const int radius = 3;
    blur<<<(n + 255) / 256, 256>>>(out, in, n, radius);
}
// --- pooled_by applies
struct Window {
    int span;
    int step;
};
__global__ void pooled_by(Window w, float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float most = in[i * w.step];
    for (int k = 1; k < w.span; k++) most = fmaxf(most, in[i * w.step + k]);
    out[i] = most;
}

void pool(const Window& w, float* out, const float* in, int n) {
    pooled_by<<<(n + 255) / 256, 256>>>(w, out, in, n);
}

Window of(int size) {
    Window w;
    w.span = size;
    w.step = 2;
    return w;
}

int main() {
    const int n = 10000;
    float *in, *out;
    cudaMalloc(&in, (2 * n + 3) * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    pool(of(5), out, in, n);
    return 0;
}
// --- pooled_by becomes
struct Window {
    int span;
    int step;
};
__device__ __forceinline__ void pooled_by_with(Window w, float* out, const float* in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float most = in[i * w.step];
    for (int k = 1; k < w.span; k++) most = fmaxf(most, in[i * w.step + k]);
    out[i] = most;
}

__global__ void pooled_by(Window w, float* out, const float* in, int n) {
    if (w.span == 5 && w.step == 2) {
        auto usual_w = w;
        usual_w.span = 5;
        usual_w.step = 2;
        pooled_by_with(usual_w, out, in, n);
    } else {
        pooled_by_with(w, out, in, n);
    }
}

void pool(const Window& w, float* out, const float* in, int n) {
    pooled_by<<<(n + 255) / 256, 256>>>(w, out, in, n);
}

Window of(int size) {
    Window w;
    w.span = size;
    w.step = 2;
    return w;
}

int main() {
    const int n = 10000;
    float *in, *out;
    cudaMalloc(&in, (2 * n + 3) * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    pool(of(5), out, in, n);
    return 0;
}
// --- windows applies
// A template, and two sizes that its launches share.
template <typename T, int SPAN>
__global__ void windows(T* out, const T* in, unsigned rows, unsigned cols, unsigned k, unsigned step) {
    __shared__ T most[SPAN];
    most[threadIdx.x] = T(0);
    for (unsigned c = threadIdx.x * step; c < cols; c += SPAN * step) {
        for (unsigned j = 0; j < k && c + j < cols; ++j) {
            T v = in[size_t(blockIdx.x) * cols + c + j];
            if (v > most[threadIdx.x]) most[threadIdx.x] = v;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < SPAN; ++t)
            if (most[t] > most[0]) most[0] = most[t];
        out[blockIdx.x] = most[0];
    }
}

void run(float* out, const float* in, unsigned rows, unsigned cols) {
    windows<float, 64><<<rows, 64>>>(out, in, rows, cols, 5, 2);
}

void again(float* out, const float* in, unsigned rows, unsigned cols) {
    constexpr unsigned window = 5;
    windows<float, 64><<<rows, 64>>>(out, in, rows, cols, window, 2u);
}
// --- windows becomes
// A template, and two sizes that its launches share.
template <typename T, int SPAN>
__device__ __forceinline__ void windows_with(T* out, const T* in, unsigned rows, unsigned cols, unsigned k, unsigned step)
{
    __shared__ T most[SPAN];
    most[threadIdx.x] = T(0);
    for (unsigned c = threadIdx.x * step; c < cols; c += SPAN * step) {
        for (unsigned j = 0; j < k && c + j < cols; ++j) {
            T v = in[size_t(blockIdx.x) * cols + c + j];
            if (v > most[threadIdx.x]) most[threadIdx.x] = v;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < SPAN; ++t)
            if (most[t] > most[0]) most[0] = most[t];
        out[blockIdx.x] = most[0];
    }
}

template <typename T, int SPAN>
__global__ void windows(T* out, const T* in, unsigned rows, unsigned cols, unsigned k, unsigned step) {
    if (k == 5 && step == 2) {
        windows_with<T, SPAN>(out, in, rows, cols, 5, 2);
    } else {
        windows_with<T, SPAN>(out, in, rows, cols, k, step);
    }
}

void run(float* out, const float* in, unsigned rows, unsigned cols) {
    windows<float, 64><<<rows, 64>>>(out, in, rows, cols, 5, 2);
}

void again(float* out, const float* in, unsigned rows, unsigned cols) {
    constexpr unsigned window = 5;
    windows<float, 64><<<rows, 64>>>(out, in, rows, cols, window, 2u);
}
// --- pooled applies
extern "C" __global__ void pooled(float *out, const float *in, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / k) return;
    float most = in[i * k];
    for (int j = 1; j < k; j++) most = fmaxf(most, in[i * k + j]);
    out[i] = most;
}

void run(float *out, const float *in, int n) { pooled<<<(n + 255) / 256, 256>>>(out, in, n, 4); }
// --- pooled becomes
__device__ __forceinline__ void pooled_with(float *out, const float *in, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / k) return;
    float most = in[i * k];
    for (int j = 1; j < k; j++) most = fmaxf(most, in[i * k + j]);
    out[i] = most;
}

extern "C" __global__ void pooled(float *out, const float *in, int n, int k)
{
    if (k == 4) {
        pooled_with(out, in, n, 4);
    } else {
        pooled_with(out, in, n, k);
    }
}

void run(float *out, const float *in, int n) { pooled<<<(n + 255) / 256, 256>>>(out, in, n, 4); }
// --- blur refuses: small number that all its launches pass
// The radius is the caller's: no number is the usual one.
__global__ void blur(float* out, const float* in, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int at = i + k;
        if (at >= 0 && at < n) sum += in[at];
    }
    out[i] = sum / (2 * radius + 1);
}

void blurred(float* out, const float* in, int n, int radius) {
    blur<<<(n + 255) / 256, 256>>>(out, in, n, radius);
}
// --- unlike refuses: small number that all its launches pass
__global__ void unlike(float* out, const float* in, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < k && i + j < n; j++) sum += in[i + j];
    if (i < n) out[i] = sum;
}

void run(float* out, const float* in, int n) {
    unlike<<<(n + 255) / 256, 256>>>(out, in, n, 3);
    unlike<<<(n + 255) / 256, 256>>>(out, in, n, 5);
}
// --- bounded refuses: __launch_bounds__
__global__ void __launch_bounds__(256) bounded(float* out, const float* in, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < k && i + j < n; j++) sum += in[i + j];
    if (i < n) out[i] = sum;
}

void run(float* out, const float* in, int n) { bounded<<<(n + 255) / 256, 256>>>(out, in, n, 3); }
// --- chosen refuses: asks for a number of k already
__device__ float window(const float* in, int i, int n, int k) {
    float sum = 0.0f;
    for (int j = 0; j < k && i + j < n; j++) sum += in[i + j];
    return sum;
}

__global__ void chosen(float* out, const float* in, int n, int k) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x, last = i + k; i < n && i < last; i += n) {
        if (k == 3) out[i] = window(in, i, n, 3);
        else out[i] = window(in, i, n, k);
    }
    for (int j = 0; j < k; j++) out[0] += 0.0f;
}

void run(float* out, const float* in, int n) { chosen<<<(n + 255) / 256, 256>>>(out, in, n, 3); }
