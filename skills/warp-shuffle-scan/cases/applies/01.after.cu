__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float totals[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int i = blockIdx.x * 256 + t;
    float v = i < n ? x[i] : 0.0f;
    for (int o = 1; o < 32; o *= 2) {
        float below = __shfl_up_sync(0xffffffffu, v, o);
        if (lane >= o) v += below;
    }
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    for (int w = 0; w < warp; w++) v += totals[w];
    if (i < n) out[i] = v;
}
