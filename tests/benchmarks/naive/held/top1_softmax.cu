#include <cuda_fp16.h>
// router: probability and number of the best expert
__global__ void router_top1(const half* gate, int* expert, float* prob, int tokens, int experts) {
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < tokens; t += gridDim.x * blockDim.x) {
        const half* g = gate + t * experts;
        float hi = __half2float(g[0]);
        int idx = 0;
        for (int e = 1; e < experts; e++) {
            const float v = __half2float(g[e]);
            if (hi < v) { idx = e; hi = v; }
        }
        float z = 0.f;
        for (int e = 0; e < experts; e++) z += expf(__half2float(g[e]) - hi);
        expert[t] = idx;
        prob[t] = 1.f / z;
    }
}
void run(const half* gate, int* expert, float* prob, int tokens, int experts) {
    router_top1<<<256, 128>>>(gate, expert, prob, tokens, experts);
}
