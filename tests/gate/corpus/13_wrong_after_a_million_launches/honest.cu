__device__ unsigned done;

__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + 1.0f;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&done, 1) == gridDim.x - 1) done = 0;
}
