// --- applies
__global__ void k(float* out) { __shared__ float tile[32][32 + 1]; tile[0][0] = 1.0f; out[0] = tile[0][0]; }
// --- becomes
__global__ void k(float* out) { __shared__ float tile[32][32]; tile[0][0] = 1.0f; out[0] = tile[0][0]; }
// --- applies
__global__ void k(float* out) { __shared__ float tile[32][33]; tile[0][0] = 1.0f; out[0] = tile[0][0]; }
// --- becomes
__global__ void k(float* out) { __shared__ float tile[32][32]; tile[0][0] = 1.0f; out[0] = tile[0][0]; }
// --- stays
__global__ void k(float* out) { __shared__ float tile[32][32]; tile[0][0] = 1.0f; out[0] = tile[0][0]; }
