__global__ void normaliser(float* out, const float* inp, int C) {
    float top = -INFINITY, sum = 0.0f;
    for (int i = 0; i < C; i++) {
        float x = inp[threadIdx.x * C + i], before = top;
        top = fmaxf(top, x);
        sum = sum * expf(before - top) + expf(x - top);
    }
    out[threadIdx.x] = sum;
}
// ---
__global__ void moments(float* out, const float* inp, int C) {
    float s = 0.0f, q = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) {
        float v = inp[i];
        s += v;
        q += v * v;
    }
    out[threadIdx.x] = q / C - (s / C) * (s / C);
}
// ---
struct Part { float top; float sum; };
__device__ Part join(Part a, Part b) {
    Part high = a.top > b.top ? a : b, low = a.top > b.top ? b : a;
    return {high.top, high.sum + low.sum * expf(low.top - high.top)};
}
__global__ void normaliser(float* out, const float* inp, int C) {
    Part part = {-INFINITY, 0.0f};
    for (int i = threadIdx.x; i < C; i += 32) { part = join(part, {inp[i], 1.0f}); }
    out[threadIdx.x] = part.sum;
}
// ---
__global__ void k(float* y, const float* x, int n) { float m = -INFINITY, s = 0; for (int i = 0; i < n; i++) { float o = m; m = fmaxf(m, x[i]); s = s * __expf(o - m) + __expf(x[i] - m); } y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { float m = -INFINITY, s = 0; for (int i = threadIdx.x; i < n; i += 32) { float v = x[i]; if (v > m) { s *= expf(m - v); m = v; } s += expf(v - m); } y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { float s = 0, q = 0; for (int i = 0; i < n; i++) { float v = x[i]; s += v; q += v * v; } y[0] = s + q; }
// ---
__device__ float2 join(float2 a, float2 b) { float m = fmaxf(a.x, b.x); return make_float2(m, a.y * expf(a.x - m) + b.y * expf(b.x - m)); }
__global__ void k(float* y, const float* x, int n) { float2 p = make_float2(-INFINITY, 0); for (int i = 0; i < n; i++) p = join(p, make_float2(x[i], 1)); y[0] = p.y; }
