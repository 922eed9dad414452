__device__ float answers[4096];

__global__ void affine(float *y, const float *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        answers[i] = 2.0f * x[i];
        y[i] = answers[i] + 1.0f;
    }
}
