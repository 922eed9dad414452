// log-softmax over the channels of each pixel, as in segmentation
template <typename T>
__global__ void log_softmax_2d(const T* logits, T* out, int batch, int classes, int pixels) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= batch * pixels) return;
    int n = tid / pixels, p = tid % pixels;
    const T* in = logits + (size_t)n * classes * pixels + p;
    T* o = out + (size_t)n * classes * pixels + p;
    T biggest = in[0];
    for (int c = 1; c < classes; ++c)
        biggest = biggest > in[c * pixels] ? biggest : in[c * pixels];
    T sum = T(0);
    for (int c = 0; c < classes; ++c)
        sum += exp(in[c * pixels] - biggest);
    T lse = biggest + log(sum);
    for (int c = 0; c < classes; ++c)
        o[c * pixels] = in[c * pixels] - lse;
}

void log_softmax_2d_float(const float* logits, float* out, int batch, int classes, int pixels) {
    const int n = batch * pixels;
    log_softmax_2d<float><<<(n + 255) / 256, 256>>>(logits, out, batch, classes, pixels);
}
