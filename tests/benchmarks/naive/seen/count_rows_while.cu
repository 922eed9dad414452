// how many of a row's values are above a threshold, and the largest
__global__ void count_rows(const float* x, int* count, float* top, float level, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* p = x + row * cols;
    int n = 0;
    float best = -1e30f;
    int i = 0;
    while (i < cols) {
        float v = p[i];
        if (v > level) n++;
        best = fmaxf(best, v);
        i++;
    }
    count[row] = n;
    top[row] = best;
}

void launch(const float* x, int* count, float* top, float level, int rows, int cols) {
    count_rows<<<(rows + 255) / 256, 256>>>(x, count, top, level, rows, cols);
}
