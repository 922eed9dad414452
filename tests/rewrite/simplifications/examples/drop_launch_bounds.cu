// --- applies
__global__ void __launch_bounds__(256, 2) k(float* out) { out[0] = 1.0f; }
// --- becomes
__global__ void k(float* out) { out[0] = 1.0f; }
// --- stays
__global__ void k(float* out) { out[0] = 1.0f; }
