// Root-mean-square normalisation of the rows of x (N, C), scaled by a weight per column.

__global__ void rmsnorm_forward(float* out, const float* x, const float* weight, int N, int C) {
    __shared__ float partial[128];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    const float4* xr = reinterpret_cast<const float4*>(x + row * C);
    const float4* wr = reinterpret_cast<const float4*>(weight);
    float4* yr = reinterpret_cast<float4*>(out + row * C);
    float sum = 0.0f;
    for (int i = tid; i < C / 4; i += blockDim.x) {
        float4 v = xr[i];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
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
    for (int i = tid; i < C / 4; i += blockDim.x) {
        float4 v = xr[i];
        float4 w = wr[i];
        yr[i] = make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
    }
}

void launch_rmsnorm_forward(float* out, const float* x, const float* weight, int N, int C) {
    rmsnorm_forward<<<N, 128>>>(out, x, weight, N, C);
}
