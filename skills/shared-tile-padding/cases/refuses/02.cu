// because: not kernel.has("vectorised_access")
__global__ void turn_tile(float* out, const float4* x, int n) {
    __shared__ float tile[32][32];
    reinterpret_cast<float4*>(&tile[threadIdx.y][0])[threadIdx.x % 8] = x[threadIdx.y * n + threadIdx.x % 8];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
