__global__ void k(float* y, const float* x, int n) { float m = -INFINITY, s = 0; for (int i = 0; i < n; i++) { float o = m; m = fmaxf(m, x[i]); s = s * __expf(o - m) + __expf(x[i] - m); } y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { float m = -INFINITY, s = 0; for (int i = threadIdx.x; i < n; i += 32) { float v = x[i]; if (v > m) { s *= expf(m - v); m = v; } s += expf(v - m); } y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { float s = 0, q = 0; for (int i = 0; i < n; i++) { float v = x[i]; s += v; q += v * v; } y[0] = s + q; }
// ---
__device__ float2 join(float2 a, float2 b) { float m = fmaxf(a.x, b.x); return make_float2(m, a.y * expf(a.x - m) + b.y * expf(b.x - m)); }
__global__ void k(float* y, const float* x, int n) { float2 p = make_float2(-INFINITY, 0); for (int i = 0; i < n; i++) p = join(p, make_float2(x[i], 1)); y[0] = p.y; }
