__global__ void relu(float *in, float *out, size_t size) {
    size_t tid = blockDim.x * blockIdx.x + threadIdx.x;
    if (tid < size) {
        if (in[tid] > 0) {
            out[tid] = in[tid];
        } else {
            out[tid] = 0;
        }
    }
}

void run_relu(float *in, float *out, size_t size) {
    dim3 block(256);
    dim3 grid((size + block.x - 1) / block.x);
    relu<<<grid, block>>>(in, out, size);
}
