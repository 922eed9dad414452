// Root-mean-square normalisation of the rows of x (N, C), scaled by a weight per column.

__device__ float block_sum(float* partial, float v) {
    int tid = threadIdx.x;
    partial[tid] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            partial[tid] += partial[tid + s];
        }
        __syncthreads();
    }
    return partial[0];
}

__global__ void rmsnorm_forward(float* out, const float* x, const float* weight, int N, int C) {
    __shared__ float partial[128];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    if (C % 4 == 0) {
        const float4* xr = reinterpret_cast<const float4*>(x + row * C);
        const float4* wr = reinterpret_cast<const float4*>(weight);
        float4* yr = reinterpret_cast<float4*>(out + row * C);
        float sum = 0.0f;
        for (int i = tid; i < C / 4; i += blockDim.x) {
            float4 v = xr[i];
            sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        }
        float scale = rsqrtf(block_sum(partial, sum) / C + 1e-5f);
        for (int i = tid; i < C / 4; i += blockDim.x) {
            float4 v = xr[i];
            float4 w = wr[i];
            yr[i] = make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
        }
    } else {
        float sum = 0.0f;
        for (int i = tid; i < C; i += blockDim.x) {
            float v = x[row * C + i];
            sum += v * v;
        }
        float scale = rsqrtf(block_sum(partial, sum) / C + 1e-5f);
        for (int i = tid; i < C; i += blockDim.x) {
            out[row * C + i] = x[row * C + i] * scale * weight[i];
        }
    }
}

void launch_rmsnorm_forward(float* out, const float* x, const float* weight, int N, int C) {
    rmsnorm_forward<<<N, 128>>>(out, x, weight, N, C);
}
