#include <cuda_fp16.h>

__global__ void __launch_bounds__(128) half_product(half* c, const half* a, const half* b, int M, int N, int K) {
    // A block computes 128 x 128 outputs, a warp 64 x 64 of them on tensor cores.
    __shared__ __align__(128) half first_tiles[3][4096];
    __shared__ __align__(128) half second_tiles[3][4096];
    const int thread = threadIdx.x, lane = thread % 32;
    const int warp_row = thread / 32 / 2 * 64, warp_column = thread / 32 % 2 * 64;
    const int row_0 = blockIdx.y * 128, column_0 = blockIdx.x * 128;
    const bool first_aligned = reinterpret_cast<size_t>(a) % 16 == 0 && K % 8 == 0;
    const bool second_aligned = reinterpret_cast<size_t>(b) % 16 == 0 && N % 8 == 0;
    float sums[4][8][4] = {};
    // The copies of a tile begin 2 rounds before it is used.
    for (int depth_0 = -64, tile = 0; depth_0 < (int)K; depth_0 += 32, tile = (tile + 1) % 3) {
        const int ahead = depth_0 + 64, to = (tile + 2) % 3;
        if (depth_0 >= 0) {
            asm volatile("cp.async.wait_group 1;" ::: "memory");
            __syncthreads();
        }
        if (ahead < K) {
            if (first_aligned && row_0 < M && ahead < K && ahead + 31 < K && row_0 + 127 < M) {
                #pragma unroll
                for (int n = 0; n < 4; n++) {
                    const int e = thread + n * 128;
                    const int line = e / 4, piece = e % 4;
                    const int p = row_0 + line, d = ahead + piece * 8;
                    half* step = &first_tiles[to][line * 32 + (piece ^ line / 2 % 4) * 8];
                    const half* from = &a[(long long)K * p + d];
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                                 "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from) : "memory");
                }
            } else {
                #pragma unroll 1
                for (int n = 0; n < 4; n++) {
                    const int e = thread + n * 128;
                    const int line = e / 4, piece = e % 4;
                    const int p = row_0 + line, d = ahead + piece * 8;
                    half* step = &first_tiles[to][line * 32 + (piece ^ line / 2 % 4) * 8];
                    if (first_aligned && p < M && d < K && d + 7 < K) {
                        const half* from = &a[(long long)K * p + d];
                        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                                     "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from) : "memory");
                    } else {
                        #pragma unroll 1
                        for (int v = 0; v < 8; v++) {
                            step[v] = p < M && d + v < K ? a[(long long)K * p + d + v] : __float2half(0.0f);
                        }
                    }
                }
            }
            if (second_aligned && column_0 < N && ahead < K && ahead + 31 < K && column_0 + 127 < N) {
                #pragma unroll
                for (int n = 0; n < 4; n++) {
                    const int e = thread + n * 128;
                    const int line = e / 16, piece = e % 16;
                    const int p = column_0 + piece * 8, d = ahead + line;
                    half* step = &second_tiles[to][piece / 8 * 2048 + line * 64 + (piece % 8 ^ line % 8) * 8];
                    const half* from = &b[(long long)N * d + p];
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                                 "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from) : "memory");
                }
            } else {
                #pragma unroll 1
                for (int n = 0; n < 4; n++) {
                    const int e = thread + n * 128;
                    const int line = e / 16, piece = e % 16;
                    const int p = column_0 + piece * 8, d = ahead + line;
                    half* step = &second_tiles[to][piece / 8 * 2048 + line * 64 + (piece % 8 ^ line % 8) * 8];
                    if (second_aligned && p < N && d < K && p + 7 < N) {
                        const half* from = &b[(long long)N * d + p];
                        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                                     "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from) : "memory");
                    } else {
                        #pragma unroll 1
                        for (int v = 0; v < 8; v++) {
                            step[v] = p + v < N && d < K ? b[(long long)N * d + p + v] : __float2half(0.0f);
                        }
                    }
                }
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (depth_0 < 0) continue;
        #pragma unroll
        for (int d = 0; d < 32; d += 16) {
            unsigned first[4][4], second[4][4];
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                const int line = warp_row + i * 16 + lane % 8 + lane / 8 % 2 * 8, piece = d / 8 + lane / 16;
                const half* from = &first_tiles[tile][line * 32 + (piece ^ line / 2 % 4) * 8];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(first[i][0]), "=r"(first[i][1]), "=r"(first[i][2]), "=r"(first[i][3])
                             : "r"((unsigned)__cvta_generic_to_shared(from)));
            }
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                const int line = d + lane % 8 + lane / 8 % 2 * 8, piece = warp_column / 8 + j * 2 + lane / 16;
                const half* from = &second_tiles[tile][piece / 8 * 2048 + line * 64 + (piece % 8 ^ line % 8) * 8];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(second[j][0]), "=r"(second[j][1]), "=r"(second[j][2]), "=r"(second[j][3])
                             : "r"((unsigned)__cvta_generic_to_shared(from)));
            }
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    const unsigned *a_ = first[i], *b_ = &second[j / 2][j % 2 * 2];
                    float* c_ = sums[i][j];
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(c_[0]), "+f"(c_[1]), "+f"(c_[2]), "+f"(c_[3])
                                 : "r"(a_[0]), "r"(a_[1]), "r"(a_[2]), "r"(a_[3]), "r"(b_[0]), "r"(b_[1]));
                }
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            #pragma unroll
            for (int v = 0; v < 4; v++) {
                const int row_at = row_0 + warp_row + i * 16 + lane / 4 + v / 2 * 8;
                const int column_at = column_0 + warp_column + j * 8 + lane % 4 * 2 + v % 2;
                int row = row_at;
                int col = column_at;
                if (row < M && col < N) {
                    float sum = 0.0f;
                    sum += sums[i][j][v];
                    c[row * N + col] = __float2half(sum);
                }
            }
        }
    }
}
