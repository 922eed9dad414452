// Normalisations of the rows of x (N, C), one block of 64 threads per row.
__device__ float block_total(float* part, float v) {
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (threadIdx.x < s) {
            part[threadIdx.x] += part[threadIdx.x + s];
        }
        __syncthreads();
    }
    float total = part[0];
    __syncthreads();
    return total;
}

__global__ void layernorm(float* y, float* mean, const float* x, const float* w, const float* b, int C) {
    __shared__ float part[64];
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += 64) {
        sum += row[i];
    }
    float m = block_total(part, sum) / C;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < C; i += 64) {
        squares += (row[i] - m) * (row[i] - m);
    }
    float scale = rsqrtf(block_total(part, squares) / C + 1e-3f);
    for (int i = threadIdx.x; i < C; i += 64) {
        y[blockIdx.x * C + i] = (row[i] - m) * scale * w[i] + b[i];
    }
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = m;
    }
}

// Rows of a multiple of four, four values at a time.
__global__ void rmsnorm_by_fours(float* y, const float* x, const float* w, int C) {
    __shared__ float part[64];
    const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * C);
    const float4* weight = reinterpret_cast<const float4*>(w);
    float4* out = reinterpret_cast<float4*>(y + blockIdx.x * C);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C / 4; i += 64) {
        float4 v = row[i];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float scale = rsqrtf(block_total(part, sum) / C + 1e-3f);
    for (int i = threadIdx.x; i < C / 4; i += 64) {
        float4 v = row[i], s = weight[i];
        out[i] = make_float4(v.x * scale * s.x, v.y * scale * s.y, v.z * scale * s.z, v.w * scale * s.w);
    }
}

__global__ void softmax_online(float* y, const float* x, int C) {
    __shared__ float most[64], total[64];
    const float* row = x + blockIdx.x * C;
    int t = threadIdx.x;
    float m = -INFINITY, sum = 0.0f;
    for (int i = t; i < C; i += 64) {
        float larger = fmaxf(m, row[i]);
        sum = sum * expf(m - larger) + expf(row[i] - larger);
        m = larger;
    }
    most[t] = m;
    total[t] = sum;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) {
            float larger = fmaxf(most[t], most[t + s]);
            if (larger > -INFINITY) {
                total[t] = total[t] * expf(most[t] - larger) + total[t + s] * expf(most[t + s] - larger);
                most[t] = larger;
            }
        }
        __syncthreads();
    }
    for (int i = t; i < C; i += 64) {
        y[blockIdx.x * C + i] = expf(row[i] - most[0]) / total[0];
    }
}

__global__ void cross_entropy(float* loss, const float* x, const int* target, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float most = -INFINITY;
        for (int i = 0; i < C; i++) {
            most = fmaxf(most, x[row * C + i]);
        }
        float sum = 0.0f;
        for (int i = 0; i < C; i++) {
            sum += expf(x[row * C + i] - most);
        }
        loss[row] = logf(sum) + most - x[row * C + target[row]];
    }
}
