__global__ void heat3d(const float* u, float* v, int nx, int ny, int nz, float k) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= 1 && x < nx - 1 && y >= 1 && y < ny - 1 && z >= 1 && z < nz - 1) {
        int i = (z * ny + y) * nx + x;
        v[i] = u[i] + k * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx] + u[i - nx * ny] + u[i + nx * ny] - 6.f * u[i]);
    }
}
void run(const float* u, float* v, int nx, int ny, int nz, float k) {
    dim3 block(8, 8, 8);
    dim3 grid((nx + 7) / 8, (ny + 7) / 8, (nz + 7) / 8);
    heat3d<<<grid, block>>>(u, v, nx, ny, nz, k);
}
