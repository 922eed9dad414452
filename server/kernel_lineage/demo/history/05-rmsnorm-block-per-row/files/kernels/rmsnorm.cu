// Root-mean-square normalisation of the rows of x (N, C), scaled by a weight per column.

__global__ void rmsnorm_forward(float* out, const float* x, const float* weight, int N, int C) {
    __shared__ float partial[128];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    const float* xr = x + row * C;
    float* yr = out + row * C;
    float sum = 0.0f;
    for (int i = tid; i < C; i += blockDim.x) {
        sum += xr[i] * xr[i];
    }
    partial[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            partial[tid] += partial[tid + s];
        }
        __syncthreads();
    }
    float scale = rsqrtf(partial[0] / C + 1e-5f);
    for (int i = tid; i < C; i += blockDim.x) {
        yr[i] = xr[i] * scale * weight[i];
    }
}

void launch_rmsnorm_forward(float* out, const float* x, const float* weight, int N, int C) {
    rmsnorm_forward<<<N, 128>>>(out, x, weight, N, C);
}
