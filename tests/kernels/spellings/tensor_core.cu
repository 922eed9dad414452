using namespace nvcuda;
__global__ void product(float* out, const half* a, const half* b, int n) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, n);
    wmma::load_matrix_sync(fb, b, n);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(out, fc, n, wmma::mem_row_major);
}
// ---
__global__ void product(float* d, const unsigned* a, const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
// ---
__global__ void k(half* y, const half* x) { nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a; nvcuda::wmma::load_matrix_sync(a, x, 16); }
// ---
__global__ void k(float* y) { float d[4]; unsigned a[4], b[2]; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); y[threadIdx.x] = d[0]; }
// ---
__global__ void k(float* y) { asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {}, %0, %1, 1, 1, 1;" :: "l"(0l), "l"(0l)); }
// ---
__device__ void product() { asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, 1;" :: "r"(0), "l"(0l), "l"(0l), "r"(0)); }
__global__ void k(float* y) { product(); }
// ---
__global__ void k(unsigned* y, unsigned at) { unsigned r; asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at)); y[0] = r; }
// ---
__global__ void k(half* y) { using Mma = cute::TiledMMA<cute::MMA_Atom<cute::SM80_16x8x16_F32F16F16F32_TN>>; y[0] = 0; }
// ---
__global__ void k(half* y) { auto m = cute::make_tiled_mma(cute::SM90_64x128x16_F32F16F16_SS<>{}); y[0] = 0; }
// ---
__global__ void k(float* y) { cutlass::arch::Mma<cutlass::gemm::GemmShape<16, 8, 16>, 32, half> mma; y[0] = 0; }
