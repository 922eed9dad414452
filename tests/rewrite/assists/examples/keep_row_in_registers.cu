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
// --- channel_softmax applies
__global__ void channel_softmax(float* __restrict__ out, const float* __restrict__ x, int C, int HW) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= HW) return;
    const float* p = x + blockIdx.y * C * HW + s;
    float m = -INFINITY;
    for (int c = 0; c < C; ++c) {
        m = fmaxf(m, p[c * HW]);
    }
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) {
        sum += expf(p[c * HW] - m);
    }
    for (int c = 0; c < C; ++c) {
        out[(blockIdx.y * C + c) * HW + s] = expf(p[c * HW] - m) / sum;
    }
}
// --- channel_softmax becomes
__global__ void channel_softmax(float* __restrict__ out, const float* __restrict__ x, int C, int HW) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= HW) return;
    const float* p = x + blockIdx.y * C * HW + s;
    float m = -INFINITY;
    float p_kept[64];
    #pragma unroll
    for (int c = 0; c < 64; ++c) {
        if (c < C) {
            p_kept[c] = p[c * HW];
        }
    }
    #pragma unroll
    for (int c = 0; c < 64; ++c) {
        if (c < C) {
            m = fmaxf(m, p_kept[c]);
        }
    }
    // What the registers do not hold, as before.
    for (int c = 64; c < C; ++c) {
        m = fmaxf(m, p[c * HW]);
    }
    float sum = 0.0f;
    #pragma unroll
    for (int c = 0; c < 64; ++c) {
        if (c < C) {
            sum += expf(p_kept[c] - m);
        }
    }
    // What the registers do not hold, as before.
    for (int c = 64; c < C; ++c) {
        sum += expf(p[c * HW] - m);
    }
    #pragma unroll
    for (int c = 0; c < 64; ++c) {
        if (c < C) {
            out[(blockIdx.y * C + c) * HW + s] = expf(p_kept[c] - m) / sum;
        }
    }
    // What the registers do not hold, as before.
    for (int c = 64; c < C; ++c) {
        out[(blockIdx.y * C + c) * HW + s] = expf(p[c * HW] - m) / sum;
    }
}
// --- pixel_norm applies
#include <cuda_fp16.h>
__global__ void pixel_norm(float* y, const __half* x, int batch, int C, long pixels) {
    long pixel = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel < pixels) {
        float squares = 0.0f;
        for (long c = 0; c < C; c++) {
            const long at = (batch * C + c) * pixels + pixel;
            float v = __half2float(x[at]);
            squares += v * v;
        }
        for (long c = 0; c < C; c++) {
            long i = (C * batch + c) * pixels + pixel;
            y[i] = __half2float(x[i]) * rsqrtf(squares / C + 1e-6f);
        }
    }
}
// --- pixel_norm becomes
#include <cuda_fp16.h>
__global__ void pixel_norm(float* y, const __half* x, int batch, int C, long pixels) {
    long pixel = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel < pixels) {
        float squares = 0.0f;
        __half x_kept[64];
        #pragma unroll
        for (long c = 0; c < 64; c++) {
            if (c < C) {
                const long at = (batch * C + c) * pixels + pixel;
                x_kept[c] = x[at];
            }
        }
        #pragma unroll
        for (long c = 0; c < 64; c++) {
            if (c < C) {
                const long at = (batch * C + c) * pixels + pixel;
                float v = __half2float(x_kept[c]);
                squares += v * v;
            }
        }
        // What the registers do not hold, as before.
        for (long c = 64; c < C; c++) {
            const long at = (batch * C + c) * pixels + pixel;
            float v = __half2float(x[at]);
            squares += v * v;
        }
        #pragma unroll
        for (long c = 0; c < 64; c++) {
            if (c < C) {
                long i = (C * batch + c) * pixels + pixel;
                y[i] = __half2float(x_kept[c]) * rsqrtf(squares / C + 1e-6f);
            }
        }
        // What the registers do not hold, as before.
        for (long c = 64; c < C; c++) {
            long i = (C * batch + c) * pixels + pixel;
            y[i] = __half2float(x[i]) * rsqrtf(squares / C + 1e-6f);
        }
    }
}
// --- class_loss applies
__global__ void class_loss(float* loss, const float* logits, const int* target, int classes, int pixels) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels) return;
    float best = logits[p];
    for (int k = 1; k < classes; k++) {
        if (logits[p + k * pixels] > best) best = logits[p + k * pixels];
    }
    float total = 0.0f;
    for (int k = 0; k < classes; k++)
        total += expf(logits[p + k * pixels] - best);
    loss[p] = logf(total) + best - logits[p + target[p] * pixels];
}
// --- class_loss becomes
__global__ void class_loss(float* loss, const float* logits, const int* target, int classes, int pixels) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels) return;
    float best = logits[p];
    float logits_kept[64];
    #pragma unroll
    for (int k = 0; k < 64; k++) {
        if (k < classes) {
            logits_kept[k] = logits[p + k * pixels];
        }
    }
    #pragma unroll
    for (int k = 1; k < 64; k++) {
        if (k < classes) {
            if (logits_kept[k] > best) best = logits_kept[k];
        }
    }
    // What the registers do not hold, as before.
    for (int k = 64; k < classes; k++) {
        if (logits[p + k * pixels] > best) best = logits[p + k * pixels];
    }
    float total = 0.0f;
    #pragma unroll
    for (int k = 0; k < 64; k++) {
        if (k < classes) {
            total += expf(logits_kept[k] - best);
        }
    }
    // What the registers do not hold, as before.
    for (int k = 64; k < classes; k++)
        total += expf(logits[p + k * pixels] - best);
    loss[p] = logf(total) + best - logits[p + target[p] * pixels];
}
// --- softmax_in_place applies
__global__ void softmax_in_place(float* x, int C, int HW) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y;
    if (i < HW) {
        float m = -INFINITY, s = 0.0f;
        for (int c = 0; c < C; c++) {
            int idx = b * C * HW + c * HW + i;
            if (x[idx] > m) m = x[idx];
        }
        for (int c = 0; c < C; c++) {
            int idx = b * C * HW + c * HW + i;
            s += expf(x[idx] - m);
        }
        for (int c = 0; c < C; c++) {
            int idx = b * C * HW + c * HW + i;
            x[idx] = expf(x[idx] - m) / s;
        }
    }
}
// --- softmax_in_place becomes
__global__ void softmax_in_place(float* x, int C, int HW) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y;
    if (i < HW) {
        float m = -INFINITY, s = 0.0f;
        float x_kept[64];
        #pragma unroll
        for (int c = 0; c < 64; c++) {
            if (c < C) {
                int idx = b * C * HW + c * HW + i;
                x_kept[c] = x[idx];
            }
        }
        #pragma unroll
        for (int c = 0; c < 64; c++) {
            if (c < C) {
                int idx = b * C * HW + c * HW + i;
                if (x_kept[c] > m) m = x_kept[c];
            }
        }
        // What the registers do not hold, as before.
        for (int c = 64; c < C; c++) {
            int idx = b * C * HW + c * HW + i;
            if (x[idx] > m) m = x[idx];
        }
        #pragma unroll
        for (int c = 0; c < 64; c++) {
            if (c < C) {
                int idx = b * C * HW + c * HW + i;
                s += expf(x_kept[c] - m);
            }
        }
        // What the registers do not hold, as before.
        for (int c = 64; c < C; c++) {
            int idx = b * C * HW + c * HW + i;
            s += expf(x[idx] - m);
        }
        #pragma unroll
        for (int c = 0; c < 64; c++) {
            if (c < C) {
                int idx = b * C * HW + c * HW + i;
                x[idx] = expf(x_kept[c] - m) / s;
            }
        }
        // What the registers do not hold, as before.
        for (int c = 64; c < C; c++) {
            int idx = b * C * HW + c * HW + i;
            x[idx] = expf(x[idx] - m) / s;
        }
    }
}
// --- centre_in_place applies
__global__ void centre_in_place(float* x, int C) {
    float* row = x + blockIdx.x * C;
    int lane = threadIdx.x % 32;
    float s = 0.0f;
    for (int i = lane; i < C; i += 32) s += row[i];
    for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
    for (int i = lane; i < C; i += 32) row[i] -= s / C * row[i];
}
// --- centre_in_place becomes
__global__ void centre_in_place(float* x, int C) {
    float* row = x + blockIdx.x * C;
    int lane = threadIdx.x % 32;
    float s = 0.0f;
    float row_kept[8];
    #pragma unroll
    for (int kept_round = 0; kept_round < 8; kept_round++) {
        int i = lane + kept_round * 32;
        if (i < C) {
            row_kept[kept_round] = row[i];
            s += row_kept[kept_round];
        }
    }
    // What the registers do not hold, as before.
    for (int i = lane + 8 * 32; i < C; i += 32) s += row[i];
    for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
    #pragma unroll
    for (int kept_round = 0; kept_round < 8; kept_round++) {
        int i = lane + kept_round * 32;
        if (i < C) {
            row[i] -= s / C * row_kept[kept_round];
        }
    }
    // What the registers do not hold, as before.
    for (int i = lane + 8 * 32; i < C; i += 32) row[i] -= s / C * row[i];
}
// --- softmax_in_place refuses: is written between the passes
__global__ void softmax_in_place(float* x, int C, int HW) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= HW) return;
    float s = 0.0f;
    for (int c = 0; c < C; c++) {
        x[c * HW + i] = expf(x[c * HW + i]);
        s += x[c * HW + i];
    }
    for (int c = 0; c < C; c++) {
        x[c * HW + i] = x[c * HW + i] / s;
    }
}
// --- shares_in_place refuses: is written between the passes
__global__ void shares_in_place(float* x, float* last, int C, int HW) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= HW) return;
    float s = 0.0f;
    for (int c = 0; c < C; c++) {
        s += x[c * HW + i];
    }
    for (int c = 0; c < C; c++) {
        x[c * HW + i] = x[c * HW + i] / s;
        last[i] = x[c * HW + i];
    }
}
// --- shares_in_place refuses: is written between the passes
__global__ void shares_in_place(float* x, int C, int HW) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= HW) return;
    float s = 0.0f;
    for (int c = 0; c < C; c++) {
        s += x[c * HW + i];
    }
    for (int c = 0; c < C; c++) {
        x[(c + 1) * HW + i] = x[c * HW + i] / s;
    }
}
// --- class_loss refuses: may leave before
__global__ void class_loss(float* loss, const float* logits, const int* target, int classes, int pixels) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels) return;
    float best = logits[p];
    for (int k = 1; k < classes; k++) {
        best = fmaxf(best, logits[p + k * pixels]);
    }
    if (best < 0.0f) return;
    float total = 0.0f;
    for (int k = 0; k < classes; k++)
        total += expf(logits[p + k * pixels] - best);
    loss[p] = logf(total) + best;
}
// --- pixel_norm refuses: may be another one
__global__ void pixel_norm(float* y, const float* x, int C, int pixels) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= pixels) return;
    float squares = 0.0f;
    for (int c = 0; c < C; c++) {
        int i = c * pixels;
        i += pixel;
        squares += x[i] * x[i];
    }
    for (int c = 0; c < C; c++) {
        int i = c * pixels;
        i += pixel;
        y[i] = x[i] * rsqrtf(squares);
    }
}
// --- pixel_norm refuses: not read again at the same places
__global__ void pixel_norm(float* y, const float* x, int C, int pixels) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= pixels) return;
    float squares = 0.0f;
    for (int c = 0; c < C; c++) {
        int i = c * pixels + pixel;
        squares += x[i] * x[i];
    }
    for (int c = 1; c < C; c++) {
        int i = (c - 1) * pixels + pixel;
        y[i] = x[i] * rsqrtf(squares);
    }
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
