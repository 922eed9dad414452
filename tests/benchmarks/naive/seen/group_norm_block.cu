// group norm and SiLU; a block for a group of an image
__global__ void group_norm_silu(float* y, const float* x, const float* w, const float* b, int C, int HW, int groups, float eps) {
    __shared__ float s1[256];
    __shared__ float s2[256];
    int per = C / groups;
    int size = per * HW;
    long base = (long)blockIdx.x * size;
    int g = blockIdx.x % groups;
    int t = threadIdx.x;
    float sum = 0, sq = 0;
    for (int i = t; i < size; i += 256) {
        float v = x[base + i];
        sum += v;
        sq += v * v;
    }
    s1[t] = sum;
    s2[t] = sq;
    __syncthreads();
    for (int o = 128; o > 0; o >>= 1) {
        if (t < o) {
            s1[t] += s1[t + o];
            s2[t] += s2[t + o];
        }
        __syncthreads();
    }
    float mean = s1[0] / size;
    float rstd = rsqrtf(s2[0] / size - mean * mean + eps);
    for (int i = t; i < size; i += 256) {
        int c = g * per + i / HW;
        float v = (x[base + i] - mean) * rstd * w[c] + b[c];
        y[base + i] = v / (1.0f + expf(-v));
    }
}

void launch(float* y, const float* x, const float* w, const float* b, int N, int C, int HW, int groups, float eps) {
    group_norm_silu<<<N * groups, 256>>>(y, x, w, b, C, HW, groups, eps);
}
