__global__ void rms_norm(float* out, const float* x, const float* weight, int hidden, float eps) {
    __shared__ float partial[256];
    int row = blockIdx.x;
    float acc = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        float v = x[row * hidden + i];
        acc += v * v;
    }
    partial[threadIdx.x] = acc;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            partial[threadIdx.x] += partial[threadIdx.x + s];
        }
        __syncthreads();
    }
    float scale = rsqrtf(partial[0] / hidden + eps);
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        out[row * hidden + i] = x[row * hidden + i] * scale * weight[i];
    }
}

void run(float* out, const float* x, const float* weight, int rows, int hidden, float eps) {
    rms_norm<<<rows, 256>>>(out, x, weight, hidden, eps);
}
