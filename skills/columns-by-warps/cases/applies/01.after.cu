__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * 32 + threadIdx.x % 32;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    __shared__ float best_parts[32][32];
    __shared__ float sum_parts[32][32];
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        sum = 0;
        for (int r = warp; r < rows; r += warps) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        best_parts[warp][lane] = best;
        sum_parts[warp][lane] = sum;
    }
    __syncthreads();
    if (warp == 0 && col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        for (int part = 0; part < warps; part++) {
            best = fmaxf(best, best_parts[part][lane]);
            sum += sum_parts[part][lane];
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks * 4, 512>>>(means, most, x, rows, cols);
}
