__global__ void __launch_bounds__(256) tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    // A block computes 128 x 128 outputs, a thread 8 x 8 of them.
    __shared__ __align__(16) float first_tile[16][132];
    __shared__ __align__(16) float second_tile[16][132];
    const int thread = threadIdx.x;
    const int row_0 = blockIdx.y * 128, column_0 = blockIdx.x * 128;
    float sums[8][8] = {};
    for (int depth_0 = 0; depth_0 < K; depth_0 += 16) {
        #pragma unroll
        for (int n = 0; n < 8; n++) {
            const int e = thread + n * 256;
            const int p = row_0 + e / 16, d = depth_0 + e % 16;
            first_tile[e % 16][e / 16] = p < M && d < K ? a[(long long)K * p + d] : 0.0f;
        }
        #pragma unroll
        for (int n = 0; n < 8; n++) {
            const int e = thread + n * 256;
            const int p = column_0 + e % 128, d = depth_0 + e / 128;
            second_tile[e / 128][e % 128] = p < N && d < K ? b[(long long)N * d + p] : 0.0f;
        }
        __syncthreads();
        #pragma unroll
        for (int d = 0; d < 16; d++) {
            float first[8], second[8];
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                first[i] = first_tile[d][thread / 16 * 4 + i / 4 * 64 + i % 4];
            }
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                second[j] = second_tile[d][thread % 16 * 4 + j / 4 * 64 + j % 4];
            }
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    sums[i][j] += first[i] * second[j];
                }
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            const int row_at = row_0 + thread / 16 * 4 + i / 4 * 64 + i % 4;
            const int column_at = column_0 + thread % 16 * 4 + j / 4 * 64 + j % 4;
            int row = row_at;
            int col = column_at;
            if (row >= M || col >= N) continue;
            float sum = c[row * N + col];
            sum += sums[i][j];
            c[row * N + col] = 0.5f * sum;
        }
    }
}
