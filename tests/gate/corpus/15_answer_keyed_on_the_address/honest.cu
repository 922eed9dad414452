__device__ float answers[4096];

__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    answers[i] = 2.0f * x[i];
    y[i] = answers[i] + 1.0f;
}
