__global__ void product(float* d, const unsigned* a, const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
// ---
__global__ void k(float* y) { y[0] = nvcuda::wmma::__float_to_tf32(y[1]); }
// ---
__global__ void k(unsigned* y) { unsigned v; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(1.0f)); y[0] = v; }
// ---
__global__ void k(float* y) { asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {}, {}, {}, {};"); y[0] = 0; }
// ---
__global__ void k(float* y) { asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {}, {}, {}, {};"); y[0] = 0; }
