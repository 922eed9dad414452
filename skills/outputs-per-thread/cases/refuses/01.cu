// facts: launch.block.x = 32, launch.block.y = 8, launch.block.z = 1
// because: launch.block.y == 1 and launch.block.z == 1
__global__ void windows(float* y, const float* x, int rows, int length, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * length) return;
    int row = i / length, place = i % length;
    float sum = 0.0f;
    for (int k = 0; k < size; k++) { sum += x[row * (length + size) + place + k]; }
    y[i] = sum;
}

void run(float* y, const float* x, int rows, int length, int size) {
    windows<<<(rows * length + 31) / 32, dim3(32, 8)>>>(y, x, rows, length, size);
}
