__global__ void rope(float* x, const float* cos_t, const float* sin_t, int seq, int heads, int half_dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int total = seq * heads * half_dim;
    if (i < total) {
        int d = i % half_dim;
        int h = (i / half_dim) % heads;
        int s = i / (half_dim * heads);
        float* p = x + (s * heads + h) * 2 * half_dim;
        float a = p[d];
        float b = p[d + half_dim];
        float c = cos_t[s * half_dim + d];
        float sn = sin_t[s * half_dim + d];
        p[d] = a * c - b * sn;
        p[d + half_dim] = a * sn + b * c;
    }
}

void run(float* x, const float* cos_t, const float* sin_t, int seq, int heads, int half_dim) {
    int total = seq * heads * half_dim;
    rope<<<(total + 255) / 256, 256>>>(x, cos_t, sin_t, seq, heads, half_dim);
}
