__global__ void count(int* total, const float* inp) {
    __shared__ int here;
    if (threadIdx.x == 0) { here = 0; }
    __syncthreads();
    if (inp[threadIdx.x] > 0.0f) { atomicAdd(&here, 1); }
    __syncthreads();
    if (threadIdx.x == 0) { total[blockIdx.x] = here; }
}
