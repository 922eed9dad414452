// asymmetric uint8 weights with a zero point for each column
__global__ void gemm_u8(float* out, const float* act, const unsigned char* wq, const float* sc, const unsigned char* zp, int rows, int cols, int depth) {
    const int r = blockIdx.y * 16 + threadIdx.y;
    const int c = blockIdx.x * 16 + threadIdx.x;
    if (r < rows && c < cols) {
        float a = 0;
        for (int d = 0; d < depth; d++) {
            float w = ((int)wq[d * cols + c] - (int)zp[c]) * sc[c];
            a = a + act[r * depth + d] * w;
        }
        out[r * cols + c] = a;
    }
}
void gemm(float* out, const float* act, const unsigned char* wq, const float* sc, const unsigned char* zp, int rows, int cols, int depth) {
    gemm_u8<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(out, act, wq, sc, zp, rows, cols, depth);
}
