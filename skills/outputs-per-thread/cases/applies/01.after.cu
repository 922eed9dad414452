__global__ void pointwise(float* y, const float* x, const float* w, int batch, int in, int out, int size) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    if (size > 0 && (out * size) > 0 && (out * size) % size == 0 && (out * size) / size % 4 == 0 && (batch * out * size) % (out * size) == 0 && (batch * out * size) / (out * size) % 4 == 0 && out % 4 == 0) {
        if (group < (batch * out * size) / 16) {
            const int between = group / ((out * size) / 4) * 4 * ((out * size) / 4) + group % ((out * size) / 4);
            const int i = between / size * 4 * size + between % size;
            int p = i % size;
            int o = i / size % out;
            int b = i / (size * out);
            float sum[16];
            #pragma unroll
            for (int lane = 0; lane < 16; lane++) {
                sum[lane] = 0.0f;
            }
            for (int c = 0; c < in; c++) {
                #pragma unroll
                for (int lane = 0; lane < 16; lane++) {
                    sum[lane] += x[((b + (lane / 4)) * in + c) * size + p] * w[(o + (lane % 4)) * in + c];
                }
            }
            #pragma unroll
            for (int lane = 0; lane < 16; lane++) {
                y[(i + (lane % 4) * size + (lane / 4) * (out * size))] = sum[lane];
            }
        }
    } else {
        for (long long at = group; at < (batch * out * size); at += (long long)gridDim.x * blockDim.x) {
            const int i = at;
            int p = i % size;
            int o = i / size % out;
            int b = i / (size * out);
            float sum = 0.0f;
            for (int c = 0; c < in; c++) { sum += x[(b * in + c) * size + p] * w[o * in + c]; }
            y[i] = sum;
        }
    }
}

void run(float* y, const float* x, const float* w, int batch, int in, int out, int size) {
    pointwise<<<(((batch * out * size + 255) / 256) + 15) / 16, 256>>>(y, x, w, batch, in, out, size);
}
