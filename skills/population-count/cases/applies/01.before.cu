#include <cstdint>
__global__ void tanimoto(const uint32_t* queries, const uint32_t* db, float* out, int n, int words) {
  int q = blockIdx.y, d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d < n) {
    int both = 0;
    int any = 0;
    for (int w = 0; w < words; w++) {
      for (int b = 0; b < 32; b++) {
        int x = (queries[q * words + w] >> b) & 1;
        int y = (db[d * words + w] >> b) & 1;
        if (x == 1 && y == 1) both++;
        if (x == 1 || y == 1) any++;
      }
    }
    out[q * n + d] = any == 0 ? 0.0f : (float)both / any;
  }
}
