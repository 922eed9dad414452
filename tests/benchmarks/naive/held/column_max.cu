__global__ void colmax(const float* m, float* top, int nrows, int ncols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < ncols) {
        float best = m[c];
        for (int r = 1; r < nrows; r++) {
            best = fmaxf(best, m[(size_t)r * ncols + c]);
        }
        top[c] = best;
    }
}

void run(const float* m, float* top, int nrows, int ncols) {
    colmax<<<(ncols + 255) / 256, 256>>>(m, top, nrows, ncols);
}
