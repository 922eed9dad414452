__global__ void count(unsigned long long* out, const int* inp) {
    out[threadIdx.x] = (unsigned long long)inp[0];  // int64_t
}
// ---
__global__ void scale(float* out, const float* inp, int C) {
    int row = blockIdx.x;
    out[row * C + threadIdx.x] = 2.0f * inp[row * C + threadIdx.x];
}
