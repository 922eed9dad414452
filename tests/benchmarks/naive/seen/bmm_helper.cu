__device__ float dot_at(const float* row, const float* col, int k)
{
    float acc = 0.0f;
    for (int p = 0; p < k; p++) acc = fmaf(row[p], col[p], acc);
    return acc;
}

// C[b] = scale * A[b] * B[b]^T, all row major
__global__ void bmm_nt(const float* A, const float* B, float* C, int m, int n, int k, float scale)
{
    const int batch = blockIdx.z;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        const float* a = A + (long long)batch * m * k + (long long)row * k;
        const float* b = B + (long long)batch * n * k + (long long)col * k;
        C[((long long)batch * m + row) * n + col] = scale * dot_at(a, b, k);
    }
}

void batched_product_nt(const float* A, const float* B, float* C, int batches, int m, int n, int k, float scale)
{
    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (m + 15) / 16, batches);
    bmm_nt<<<blocks, threads>>>(A, B, C, m, n, k, scale);
}
