__global__ void pairwise(const float* A, const float* B, float* D, int n, int m, int dim)
{
    int j = threadIdx.x + blockIdx.x * blockDim.x;
    int i = threadIdx.y + blockIdx.y * blockDim.y;
    if (i >= n || j >= m)
        return;
    float dist = 0.0f;
    for (int d = 0; d < dim; d++) {
        float diff = A[i * dim + d] - B[j * dim + d];
        dist += diff * diff;
    }
    D[i * m + j] = sqrtf(dist);
}

void compute_pairwise(const float* A, const float* B, float* D, int n, int m, int dim)
{
    dim3 block(16, 16);
    dim3 grid((m + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    pairwise<<<grid, block>>>(A, B, D, n, m, dim);
}
