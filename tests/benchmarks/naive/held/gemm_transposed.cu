#define A_AT(p, r) A[(p) * lda + (r)]
#define B_AT(p, c) B[(p) * ldb + (c)]

// C (rows x cols) = A^T B
__global__ void gemm_tn(float* C, const float* __restrict__ A, const float* __restrict__ B, int rows, int cols, int depth,
                        int lda, int ldb) {
    int ty = threadIdx.y, tx = threadIdx.x;
    int r = blockIdx.y * blockDim.y + ty;
    int c = blockIdx.x * blockDim.x + tx;
    if (r < rows) {
        if (c < cols) {
            float s = 0;
            int p = 0;
            while (p < depth) {
                s = s + A_AT(p, r) * B_AT(p, c);
                p++;
            }
            C[r * cols + c] = s;
        }
    }
}

void run(float* C, const float* A, const float* B, int rows, int cols, int depth) {
    gemm_tn<<<dim3((cols + 31) / 32, (rows + 7) / 8), dim3(32, 8)>>>(C, A, B, rows, cols, depth, rows, cols);
}
