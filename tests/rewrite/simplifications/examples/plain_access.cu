// --- applies
__global__ void k(float* out, const float* x, int i) { __stcs(&out[i], __ldcs(x + i)); }
// --- becomes
__global__ void k(float* out, const float* x, int i) { (*(&out[i]) = (*(x + i))); }
// --- applies
__global__ void k(float* out, const float* x, int i) { out[i] = 2.0f * __ldg(x + i); }
// --- becomes
__global__ void k(float* out, const float* x, int i) { out[i] = 2.0f * (*(x + i)); }
// --- stays
__global__ void k(float* out, const float* x) { out[0] = x[0]; }
