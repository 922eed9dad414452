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
