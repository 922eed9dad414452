// Reductions of the rows of x (N, C): by a tree in shared memory, by shuffles, and by warps into shared memory.
__global__ void tree_sum(float* y, const float* x, int C) {
    __shared__ float part[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < C; i += 64) {
        sum += x[blockIdx.x * C + i];
    }
    part[t] = sum;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) {
            part[t] += part[t + s];
        }
        __syncthreads();
    }
    if (t == 0) {
        y[blockIdx.x] = part[0];
    }
}

__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) {
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    }
    return v;
}

// One warp per row; several rows in a block.
__global__ void warp_rows(float* y, const float* x, int N, int C) {
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= N) {
        return;
    }
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) {
        sum += x[row * C + i] * x[row * C + i];
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        y[row] = sum;
    }
}

__global__ void block_sum(float* y, const float* x, int C) {
    __shared__ float part[4];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        sum += x[blockIdx.x * C + i];
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        part[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(threadIdx.x < 4 ? part[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0) {
            y[blockIdx.x] = sum;
        }
    }
}
