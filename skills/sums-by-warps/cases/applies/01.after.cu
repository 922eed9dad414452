__global__ void mixed(float* out, const float* x, const float* weights, int rows, int cols) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = out[col];
    {
        const int lane = threadIdx.x % 32;
        bool wide = (col - lane) % 32 == 0 && cols % 32 == 0;
        for (int r = 1; r < 1 + 2; r++) {
            wide = wide && reinterpret_cast<size_t>(&x[(r - 1) * cols]) % 16 == 0;
        }
        if (wide) {
            // A lane takes 4 columns of every 4th row; shuffles hand each one the sum of its own.
            const int quad = (col - lane) / 4 + lane % 8;
            float sum_parts[4] = {};
            #pragma unroll 4
            for (int r = 1 + lane / 8; r <= rows; r += 4) {
                alignas(16) float x_quad[4];
                *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(&x[(r - 1) * cols])[quad];
                #pragma unroll
                for (int place = 0; place < 4; place++) {
                    sum_parts[place] += weights[r - 1] * x_quad[place];
                }
            }
            #pragma unroll
            for (int place = 0; place < 2; place++) {
                const float away = lane & 16 ? sum_parts[place] : sum_parts[place + 2];
                sum_parts[place] = lane & 16 ? sum_parts[place + 2] : sum_parts[place];
                sum_parts[place] += __shfl_xor_sync(0xffffffff, away, 16);
            }
            {
                const float away = lane & 8 ? sum_parts[0] : sum_parts[1];
                sum_parts[0] = lane & 8 ? sum_parts[1] : sum_parts[0];
                sum_parts[0] += __shfl_xor_sync(0xffffffff, away, 8);
            }
            sum += __shfl_sync(0xffffffff, sum_parts[0], lane % 4 * 8 + lane / 4);
        } else {
            for (int r = 1; r <= rows; r++) { sum += weights[r - 1] * x[(r - 1) * cols + col]; }
        }
    }
    out[col] = sum;
}

void run_mixed(float* out, const float* x, const float* weights, int rows, int cols) {
    mixed<<<(cols + 63) / 64, 64>>>(out, x, weights, rows, cols);
}
