__global__ void jacobi(const float* in, float* out, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
        out[y * width + x] = 0.25f * (in[y * width + x - 1] + in[y * width + x + 1]
                                      + in[(y - 1) * width + x] + in[(y + 1) * width + x]);
    }
}

void run(const float* in, float* out, int height, int width) {
    dim3 block(16, 16);
    dim3 grid((width + 15) / 16, (height + 15) / 16);
    jacobi<<<grid, block>>>(in, out, height, width);
}
