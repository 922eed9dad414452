__global__ void axpy(int n, float alpha, const float* x, float* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        y[i] = alpha * x[i] + y[i];
    }
}

void run_axpy(int n, float alpha, const float* x, float* y) {
    axpy<<<1024, 256>>>(n, alpha, x, y);
}
