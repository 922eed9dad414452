// facts: profile.bound = "bandwidth"
// because: profile.bound != "bandwidth"
__global__ void squash(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = expf(x[i]); }
}
