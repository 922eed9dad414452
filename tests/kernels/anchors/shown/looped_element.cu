__global__ void windows(float* y, const float* x, int rows, int length, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * length) return;
    int row = i / length, place = i % length;
    float sum = 0.0f;
    for (int k = 0; k < size; k++) { sum += x[row * (length + size) + place + k]; }
    y[i] = sum;
}
// ---
__global__ void bags(double* y, const double* table, const int* ids, int n, int width, int many) {
    const int at = threadIdx.x + blockIdx.x * blockDim.x;
    if (at < n) {
        double sum = 0;
        for (int k = 0; k < many; ++k) sum += table[ids[at / width * many + k] * width + at % width];
        y[at] = sum;
    }
}
