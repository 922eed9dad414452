// Softmax over the rows of x (N, C). Each version stays here under its number.
#include <cfloat>

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

__device__ float warp_max(float v) {
    for (int offset = 16; offset > 0; offset /= 2) {
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
    }
    return v;
}

__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) {
        v += __shfl_xor_sync(0xffffffff, v, offset);
    }
    return v;
}

// version 3: one warp per row, reductions by shuffles
__global__ void softmax_forward3(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= N) return;
    const float* xr = x + row * C;
    float* yr = out + row * C;
    float maxval = -INFINITY;
    for (int i = lane; i < C; i += 32) {
        maxval = fmaxf(maxval, xr[i]);
    }
    maxval = warp_max(maxval);
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) {
        float e = expf(xr[i] - maxval);
        yr[i] = e;
        sum += e;
    }
    sum = warp_sum(sum);
    for (int i = lane; i < C; i += 32) {
        yr[i] /= sum;
    }
}

void launch_softmax_forward3(float* out, const float* x, int N, int C) {
    softmax_forward3<<<(N + 3) / 4, 128>>>(out, x, N, C);
}

// version 4: as version 3, with maximum and sum in a single pass
__global__ void softmax_forward4(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= N) return;
    const float* xr = x + row * C;
    float maxval = -FLT_MAX;
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) {
        float v = xr[i];
        if (v > maxval) {
            sum *= expf(maxval - v);
            maxval = v;
        }
        sum += expf(v - maxval);
    }
    float rowmax = warp_max(maxval);
    sum = warp_sum(sum * expf(maxval - rowmax));
    for (int i = lane; i < C; i += 32) {
        out[row * C + i] = expf(xr[i] - rowmax) / sum;
    }
}

void launch_softmax_forward4(float* out, const float* x, int N, int C) {
    softmax_forward4<<<(N + 3) / 4, 128>>>(out, x, N, C);
}
