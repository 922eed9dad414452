"""A host function that launches two kernels, and the same with one that does the work of both."""

from workload_texts import workload_text

WORKLOAD = workload_text(
    "lowered",
    "rows = [3, 9]\ncols = [1, 70]",
    "grid = [1]\nblock = [64]",
    "x: input float32 [rows, cols]",
    "out: output float32 [rows, cols]",
    "rows: int32 = rows",
    "cols: int32 = cols",
)
LEAST = """
__global__ void least_of(const float* x, float* least, int cols) {
    float own = INFINITY;
    for (int c = threadIdx.x; c < cols; c += 32) own = fminf(own, fabsf(x[blockIdx.x * cols + c]));
    for (int o = 16; o > 0; o /= 2) own = fminf(own, __shfl_xor_sync(0xffffffff, own, o));
    if (threadIdx.x == 0) least[blockIdx.x] = own;
}
__global__ void take(const float* x, const float* least, float* out, int cols) {
    int row = blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 64) out[row + c] = x[row + c] - least[blockIdx.x];
}
struct Room { float* least = nullptr; };
void lowered(const float* x, float* out, int rows, int cols, Room& room) {
    least_of<<<rows, 32>>>(x, room.least, cols);
    take<<<rows, 64>>>(x, room.least, out, cols);
}
"""
FUSED = """
struct Room { float* least = nullptr; int unused = 0; };
__global__ void lower(const float* x, float* out, int cols) {
    __shared__ float least[64];
    float own = INFINITY;
    for (int c = threadIdx.x; c < cols; c += 64) own = fminf(own, fabsf(x[blockIdx.x * cols + c]));
    least[threadIdx.x] = own;
    __syncthreads();
    for (int o = 32; o > 0; o /= 2) {
        if (threadIdx.x < o) least[threadIdx.x] = fminf(least[threadIdx.x], least[threadIdx.x + o]);
        __syncthreads();
    }
    for (int c = threadIdx.x; c < cols; c += 64) out[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] - least[0];
}
void lowered(const float* x, float* out, int rows, int cols, Room& room) {
    (void)room;
    lower<<<rows, 64>>>(x, out, cols);
}
"""
MAIN = """
int main() {
    int rows = 40, cols = 300;
    float *x, *out;
    Room room;
    cudaMalloc(&x, rows * cols * sizeof(float));
    cudaMalloc(&out, rows * cols * sizeof(float));
    cudaMalloc(&room.least, rows * sizeof(float));
    lowered(x, out, rows, cols, room);
    cudaFree(room.least);
}
"""
