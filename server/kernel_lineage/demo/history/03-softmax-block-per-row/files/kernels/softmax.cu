// Softmax over the rows of x (N, C). Each version stays here under its number.

// version 1: one thread per row
__global__ void softmax_forward1(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    const float* xr = x + row * C;
    float* yr = out + row * C;
    float maxval = -INFINITY;
    for (int i = 0; i < C; i++) {
        maxval = fmaxf(maxval, xr[i]);
    }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        yr[i] = expf(xr[i] - maxval);
        sum += yr[i];
    }
    for (int i = 0; i < C; i++) {
        yr[i] /= sum;
    }
}

void launch_softmax_forward1(float* out, const float* x, int N, int C) {
    softmax_forward1<<<(N + 127) / 128, 128>>>(out, x, N, C);
}

// version 2: one block per row, reductions in shared memory
__global__ void softmax_forward2(float* out, const float* x, int N, int C) {
    __shared__ float shared[128];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    const float* xr = x + row * C;
    float* yr = out + row * C;
    float maxval = -INFINITY;
    for (int i = tid; i < C; i += blockDim.x) {
        maxval = fmaxf(maxval, xr[i]);
    }
    shared[tid] = maxval;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            shared[tid] = fmaxf(shared[tid], shared[tid + s]);
        }
        __syncthreads();
    }
    maxval = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = tid; i < C; i += blockDim.x) {
        float e = expf(xr[i] - maxval);
        yr[i] = e;
        sum += e;
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }
    sum = shared[0];
    for (int i = tid; i < C; i += blockDim.x) {
        yr[i] /= sum;
    }
}

void launch_softmax_forward2(float* out, const float* x, int N, int C) {
    softmax_forward2<<<N, 128>>>(out, x, N, C);
}
