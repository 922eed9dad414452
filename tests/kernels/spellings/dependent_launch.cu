__global__ void scale(float* out, const float* inp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cudaGridDependencySynchronize();
    out[i] = 2.0f * inp[i];
    cudaTriggerProgrammaticLaunchCompletion();
}
// ---
__device__ void wait_for_the_one_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__global__ void scale(float* out, const float* inp) {
    wait_for_the_one_before();
    out[threadIdx.x] = 2.0f * inp[threadIdx.x];
}
// ---
__global__ void k(float* y) { cudaGridDependencySynchronize(); y[0] = 0; }
// ---
__global__ void k(float* y) { y[0] = 0; cudaTriggerProgrammaticLaunchCompletion(); }
// ---
__global__ void k(float* y) { cutlass::arch::wait_on_dependent_grids(); y[0] = 0; }
// ---
__global__ void k(float* y) { cutlass::arch::launch_dependent_grids(); y[0] = 0; }
// ---
__global__ void k(float* y) { asm volatile("griddepcontrol.launch_dependents;"); y[0] = 0; }
// ---
__global__ void k(float* y) { asm volatile("griddepcontrol.wait;" : : : "memory"); y[0] = 0; }
// ---
__device__ void go() { cudaTriggerProgrammaticLaunchCompletion(); }
__global__ void k(float* y) { y[0] = 0; go(); }
// ---
__global__ void k(float* y) { if (threadIdx.x == 0) { cudaGridDependencySynchronize(); } __syncthreads(); y[0] = 0; }
