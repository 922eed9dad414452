// --- applies
__global__ void k(float* __restrict__ out, const float *__restrict x) { out[0] = x[0]; }
// --- becomes
__global__ void k(float* out, const float * x) { out[0] = x[0]; }
// --- stays
// __restrict__ would help
__global__ void k(float* out) { out[0] = 1.0f; }
