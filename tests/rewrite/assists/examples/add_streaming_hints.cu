// --- scale applies
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a * x[i];
    }
}
// --- scale becomes
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        __stcs(&out[i], a * __ldcs(&x[i]));
    }
}
// --- add_bias applies
__global__ void add_bias(float* out, const float* x, const float* bias, int n, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    out[i] = value + bias[0];
}
// --- add_bias becomes
__global__ void add_bias(float* out, const float* x, const float* bias, int n, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = __ldcs(&x[i]);
    __stcs(&out[i], value + bias[0]);
}
// --- scale refuses: already
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a * __ldcg(x + i);
    }
}
// --- scale refuses: touched once
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] += a;
    }
}
// --- scale refuses: take no elements of
__global__ void scale(float* out, const bool* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[0] = x[i];
    }
}
// --- scale refuses: is no whole element
__global__ void scale(float* out, const float2* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[0] = a * x[i].x;
    }
}
// --- scale refuses: more than one plain store
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a = out[i] = 1.0f;
    }
}
