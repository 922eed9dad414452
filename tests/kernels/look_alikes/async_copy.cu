__global__ void stage(float* out, const float* inp) {
    __shared__ float tile[256];
    tile[threadIdx.x] = inp[blockIdx.x * 256 + threadIdx.x];  // not cp.async
    __syncthreads();
    out[threadIdx.x] = tile[255 - threadIdx.x];
}
