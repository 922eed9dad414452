// y = relu(x w^T + bias): x is batch x in_features, w is out_features x in_features
__global__ void linear_relu(const float* x, const float* w, const float* bias, float* y, int batch, int out_features,
                            int in_features) {
    const int o = threadIdx.x + blockDim.x * blockIdx.x;
    const int b = threadIdx.y + blockDim.y * blockIdx.y;
    if (b >= batch) return;
    if (o >= out_features) return;
    const float* xr = x + (size_t)b * in_features;
    const float* wr = w + (size_t)o * in_features;
    float acc = bias[o];
    for (int i = 0; i < in_features; ++i) acc = fmaf(xr[i], wr[i], acc);
    y[(size_t)b * out_features + o] = acc > 0.f ? acc : 0.f;
}

void linear(const float* x, const float* w, const float* bias, float* y, int batch, int out_features, int in_features) {
    dim3 t(16, 16);
    dim3 g((out_features + t.x - 1) / t.x, (batch + t.y - 1) / t.y);
    linear_relu<<<g, t>>>(x, w, bias, y, batch, out_features, in_features);
}
