#include <cstdint>
__global__ void tanimoto(const uint32_t* queries, const uint32_t* db, float* out, int n, int words) {
  int q = blockIdx.y, d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d < n) {
    int both = 0;
    int any = 0;
    for (int w = 0; w < words; w++) {
      const auto x_bits = queries[q * words + w];
      const auto y_bits = db[d * words + w];
      both += __popc(x_bits & y_bits);
      any += __popc(x_bits | y_bits);
    }
    out[q * n + d] = any == 0 ? 0.0f : (float)both / any;
  }
}
