__global__ void k(float* y) { y[0] = nvcuda::wmma::__float_to_tf32(y[1]); }
// ---
__global__ void k(unsigned* y) { unsigned v; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(1.0f)); y[0] = v; }
// ---
__global__ void k(float* y) { asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {}, {}, {}, {};"); y[0] = 0; }
// ---
__global__ void k(float* y) { asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {}, {}, {}, {};"); y[0] = 0; }
