#include <cfloat>

// 3x3 window, stride 2, padding 1, NCHW
__global__ void maxpool3x3s2(const int nthreads, const float* bottom, const int channels, const int height,
                             const int width, const int pooled_h, const int pooled_w, float* top)
{
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < nthreads; index += blockDim.x * gridDim.x) {
        int pw = index % pooled_w;
        int ph = (index / pooled_w) % pooled_h;
        int c = (index / pooled_w / pooled_h) % channels;
        int n = index / pooled_w / pooled_h / channels;
        int hstart = ph * 2 - 1;
        int wstart = pw * 2 - 1;
        int hend = min(hstart + 3, height);
        int wend = min(wstart + 3, width);
        hstart = max(hstart, 0);
        wstart = max(wstart, 0);
        float maxval = -FLT_MAX;
        const float* slice = bottom + (n * channels + c) * height * width;
        for (int h = hstart; h < hend; ++h) {
            for (int w = wstart; w < wend; ++w) {
                if (slice[h * width + w] > maxval) {
                    maxval = slice[h * width + w];
                }
            }
        }
        top[index] = maxval;
    }
}

void pool_forward(const float* bottom, float* top, int n, int channels, int height, int width)
{
    int ph = (height - 1) / 2 + 1, pw = (width - 1) / 2 + 1;
    int count = n * channels * ph * pw;
    maxpool3x3s2<<<(count + 511) / 512, 512>>>(count, bottom, channels, height, width, ph, pw, top);
}
