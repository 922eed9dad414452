// facts: launch.block.x = 16, launch.block.y = 4, launch.block.z = 4
// because: launch.block.z == 1
__global__ void tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = c[row * N + col];
    for (int k = 0; k < K; k++) {
        sum += a[row * K + k] * b[k * N + col];
    }
    c[row * N + col] = 0.5f * sum;
}
