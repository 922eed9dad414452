__global__ void argmax_rows(const float* scores, int* index, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float best = scores[r * cols];
        int where = 0;
        for (int c = 1; c < cols; c++) {
            if (scores[r * cols + c] > best) {
                best = scores[r * cols + c];
                where = c;
            }
        }
        index[r] = where;
    }
}

void run(const float* scores, int* index, int rows, int cols) {
    argmax_rows<<<(rows + 127) / 128, 128>>>(scores, index, rows, cols);
}
