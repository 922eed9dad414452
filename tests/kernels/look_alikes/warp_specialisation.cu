__global__ void first_warp(float* out, const float* inp) {  // no setmaxnreg
    if (threadIdx.x < 32) { out[threadIdx.x] = inp[threadIdx.x]; }
}
