// facts: N = 4194304, launch.block.x = 256, launch.block.y = 1, launch.block.z = 1, device.sms = 132
__global__ void pointwise(float* y, const float* x, const float* w, int batch, int in, int out, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < batch * out * size) {
        int p = i % size;
        int o = i / size % out;
        int b = i / (size * out);
        float sum = 0.0f;
        for (int c = 0; c < in; c++) { sum += x[(b * in + c) * size + p] * w[o * in + c]; }
        y[i] = sum;
    }
}

void run(float* y, const float* x, const float* w, int batch, int in, int out, int size) {
    pointwise<<<(batch * out * size + 255) / 256, 256>>>(y, x, w, batch, in, out, size);
}
