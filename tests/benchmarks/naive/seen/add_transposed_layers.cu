__global__ void add_bt(const float* a, const float* b, float* c, int M, int N) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int batch = blockIdx.z;
    if (row < M && col < N)
        c[batch * M * N + row * N + col] = a[batch * M * N + row * N + col] + b[batch * M * N + col * M + row];
}
void run(const float* a, const float* b, float* c, int B, int M, int N) {
    dim3 t(16, 16);
    dim3 g((N + 15) / 16, (M + 15) / 16, B);
    add_bt<<<g, t>>>(a, b, c, M, N);
}
