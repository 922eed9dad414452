// --- spread applies
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }
}
// --- spread becomes
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    float row_kept[8];
    #pragma unroll
    for (int kept_round = 0; kept_round < 8; kept_round++) {
        int i = threadIdx.x + kept_round * blockDim.x;
        if (i < C) {
            row_kept[kept_round] = row[i];
            low = fminf(low, row_kept[kept_round]);
            high = fmaxf(high, row_kept[kept_round]);
        }
    }
    // What the registers do not hold, as before.
    for (int i = threadIdx.x + 8 * blockDim.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    #pragma unroll
    for (int kept_round = 0; kept_round < 8; kept_round++) {
        int i = threadIdx.x + kept_round * blockDim.x;
        if (i < C) {
            out[blockIdx.x * C + i] = (row_kept[kept_round] - low) / (high - low + 1.0f);
        }
    }
    // What the registers do not hold, as before.
    for (int i = threadIdx.x + 8 * blockDim.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }
}
// --- centre_by_lanes applies
__global__ void centre_by_lanes(float* out, const float *__restrict__ x, int C) {
  int lane = threadIdx.x % 32;
  float s = 0.0f;
  for (int i = lane; i < C; i += 32) s += x[blockIdx.x * C + i];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
  for (int i = lane; i < C; i += 32) { out[blockIdx.x * C + i] = x[blockIdx.x * C + i] - s / C; }
}
// --- centre_by_lanes becomes
__global__ void centre_by_lanes(float* out, const float *__restrict__ x, int C) {
  int lane = threadIdx.x % 32;
  float s = 0.0f;
  float x_kept[8];
  #pragma unroll
  for (int kept_round = 0; kept_round < 8; kept_round++) {
    int i = lane + kept_round * 32;
    if (i < C) {
      x_kept[kept_round] = x[blockIdx.x * C + i];
      s += x_kept[kept_round];
    }
  }
  // What the registers do not hold, as before.
  for (int i = lane + 8 * 32; i < C; i += 32) s += x[blockIdx.x * C + i];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
  #pragma unroll
  for (int kept_round = 0; kept_round < 8; kept_round++) {
    int i = lane + kept_round * 32;
    if (i < C) {
      out[blockIdx.x * C + i] = x_kept[kept_round] - s / C;
    }
  }
  // What the registers do not hold, as before.
  for (int i = lane + 8 * 32; i < C; i += 32) { out[blockIdx.x * C + i] = x[blockIdx.x * C + i] - s / C; }
}
// --- spread refuses: not read again at the same places
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }
    row += 1;
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }
}
// --- spread refuses: a way out
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        if (row[i] < 0.0f) break;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }
}
// --- spread refuses: does not deal the row out
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    for (int i = 0; i < C; i++) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    for (int i = 0; i < C; i++) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }
}
// --- spread refuses: may write the row
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }
    atomicAdd((float*)row, 1.0f);
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }
}
// --- spread refuses: by its address or by reference
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (__ldcs(&row[i]) - low) / (high - low + 1.0f);
    }
}
// --- spread refuses: only under
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        if (i < 9) { low = row[i]; }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }
}
// --- spread refuses: a pragma of its own
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
    #pragma unroll 2
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    #pragma unroll 2
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }
}
