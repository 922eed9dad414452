__global__ void __launch_bounds__(1024) column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * 16 + threadIdx.x % 16;
    const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
    __shared__ float best_parts[64][16];
    __shared__ float sum_parts[64][16];
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        sum = 0;
        #pragma unroll 8
        for (int r = group; r < rows; r += 64) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        best_parts[group][lane] = best;
        sum_parts[group][lane] = sum;
    }
    __syncthreads();
    if (group == 0 && col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        for (int part = 0; part < 64; part++) {
            best = fmaxf(best, best_parts[part][lane]);
            sum += sum_parts[part][lane];
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}
