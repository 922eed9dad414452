__global__ void fill(float* out, int cluster) {  // this_cluster() would name its blocks
    out[blockIdx.x * cluster + threadIdx.x] = 1.0f;
}
