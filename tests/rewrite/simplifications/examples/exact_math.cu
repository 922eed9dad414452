// --- applies
__global__ void k(float* out, const float* x) { out[0] = __expf(x[0] - x[1]) * rsqrtf(x[2] + 1e-5f); }
// --- becomes
__global__ void k(float* out, const float* x) { out[0] = expf(x[0] - x[1]) * (1.0f / sqrtf(x[2] + 1e-5f)); }
// --- applies
__global__ void k(float* out, const float* x) { out[0] = __fdividef(x[0], x[1]); }
// --- becomes
__global__ void k(float* out, const float* x) { out[0] = ((x[0]) / (x[1])); }
// --- stays
__global__ void k(float* out) { out[0] = expf(1.0f); }
