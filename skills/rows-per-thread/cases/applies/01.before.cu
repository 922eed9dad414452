__global__ void smooth(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height - 1) {
        out[y * width + x] = 0.5f * (in[y * width + x] + in[(y + 1) * width + x]);
    }
}

void smooth_plane(float* out, const float* in, int width, int height) {
    dim3 block(16, 16);
    smooth<<<dim3((width + 15) / 16, (height + 15) / 16), block>>>(out, in, width, height);
}
