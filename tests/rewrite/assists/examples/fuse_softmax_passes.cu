// --- softmax_statistics applies
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += expf(x_row[i] - m); }
    maxima[row] = m;
    sums[row] = s;
}
// --- softmax_statistics becomes
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    float sum_so_far = 0.0f;
    for (int i = 0; i < C; i++) {
        const float value = x_row[i];
        if (value > m) {
            sum_so_far = sum_so_far * expf(m - value) + 1.0f;
            m = value;
        } else {
            // Equal elements are not subtracted: both may be -infinity at the start of a row.
            sum_so_far += value == m ? 1.0f : expf(value - m);
        }
    }
    float s = 0.0f;
    // m - m is NaN where the maximum is infinite, as the exponentials were.
    if (sum_so_far != 0.0f) {
        s += sum_so_far + (m - m);
    }
    maxima[row] = m;
    sums[row] = s;
}
// --- log_sums applies
__global__ void log_sums(float* out, const float* x, int N, int C) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= N) return;
    float top = x[t * C];
    for (int i = 1; i < C; i++) {
        if (x[t * C + i] > top) top = x[t * C + i];
    }
    float s = 0.0f;
    for (int i = 0; i < C; i++) s += expf(x[t * C + i] - top);
    out[t] = top + logf(s);
}
// --- log_sums becomes
__global__ void log_sums(float* out, const float* x, int N, int C) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= N) return;
    float top = x[t * C];
    float sum_so_far = 0.0f;
    for (int i = 0; i < C; i++) {
        const float value = x[t * C + i];
        if (value > top) {
            sum_so_far = sum_so_far * expf(top - value) + 1.0f;
            top = value;
        } else {
            // Equal elements are not subtracted: both may be -infinity at the start of a row.
            sum_so_far += value == top ? 1.0f : expf(value - top);
        }
    }
    float s = 0.0f;
    // top - top is NaN where the maximum is infinite, as the exponentials were.
    if (sum_so_far != 0.0f) {
        s += sum_so_far + (top - top);
    }
    out[t] = top + logf(s);
}
// --- softmax_rows applies
__global__ void softmax_rows(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float top = -INFINITY;
        for (int i = 0; i < C; i++) {
            if (x[row * C + i] > top) {
                top = x[row * C + i];
            }
        }
        double total = 0.0;
        for (int i = 0; i < C; i++) {
            out[row * C + i] = expf(x[row * C + i] - top);
            total += out[row * C + i];
        }
        for (int i = 0; i < C; i++) {
            out[row * C + i] /= (float)total;
        }
    }
}
// --- softmax_rows becomes
__global__ void softmax_rows(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float top = -INFINITY;
        double sum_so_far = 0.0;
        for (int i = 0; i < C; i++) {
            const float value = x[row * C + i];
            if (value > top) {
                sum_so_far = sum_so_far * expf(top - value) + 1.0;
                top = value;
            } else {
                // Equal elements are not subtracted: both may be -infinity at the start of a row.
                sum_so_far += value == top ? 1.0 : expf(value - top);
            }
        }
        double total = 0.0;
        // top - top is NaN where the maximum is infinite, as the exponentials were.
        if (sum_so_far != 0.0) {
            total += sum_so_far + (top - top);
        }
        for (int i = 0; i < C; i++) {
            out[row * C + i] = expf(x[row * C + i] - top) / (float)total;
        }
    }
}
// --- block_softmax applies
__global__ void block_softmax(float* out, const float* x, int C) {
  __shared__ float best[64];
  __shared__ float all;
  const float* row = x + blockIdx.x * C;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < C; i += blockDim.x) m = fmaxf(m, row[i]);
  best[threadIdx.x] = m;
  __syncthreads();
  float row_max = best[0];
  for (int t = 1; t < blockDim.x; t++) row_max = fmaxf(row_max, best[t]);
  if (threadIdx.x == 0) all = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < C; i += blockDim.x) sum += expf(row[i] - row_max);
  atomicAdd(&all, sum);
  __syncthreads();
  for (int i = threadIdx.x; i < C; i += blockDim.x) out[blockIdx.x * C + i] = expf(row[i] - row_max) / all;
}
// --- block_softmax becomes
__global__ void block_softmax(float* out, const float* x, int C) {
  __shared__ float best[64];
  __shared__ float all;
  const float* row = x + blockIdx.x * C;
  float m = -INFINITY;
  float sum_so_far = 0.0f;
  for (int i = threadIdx.x; i < C; i += blockDim.x) {
    const float value = row[i];
    if (value > m) {
      sum_so_far = sum_so_far * expf(m - value) + 1.0f;
      m = value;
    } else {
      // Equal elements are not subtracted: both may be -infinity at the start of a row.
      sum_so_far += value == m ? 1.0f : expf(value - m);
    }
  }
  const float own_m = m;
  best[threadIdx.x] = m;
  __syncthreads();
  float row_max = best[0];
  for (int t = 1; t < blockDim.x; t++) row_max = fmaxf(row_max, best[t]);
  if (threadIdx.x == 0) all = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  // From this thread's maximum to the row's.
  if (sum_so_far != 0.0f) {
    sum += sum_so_far * expf(own_m - row_max);
  }
  atomicAdd(&all, sum);
  __syncthreads();
  for (int i = threadIdx.x; i < C; i += blockDim.x) out[blockIdx.x * C + i] = expf(row[i] - row_max) / all;
}
// --- softmax_statistics refuses: do not run over the same elements
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    float s = 0.0f;
    for (int i = 0; i < C - 1; i++) { s += expf(x_row[i] - m); }
    maxima[row] = m;
    sums[row] = s;
}
// --- log_sums refuses: do not run over the same elements
__global__ void log_sums(float* out, const float* x, int N, int C) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= N) return;
    float top = x[t * C];
    for (int i = 1 + t; i < C; i += 32) {
        if (x[t * C + i] > top) top = x[t * C + i];
    }
    float s = 0.0f;
    for (int i = t; i < C; i += 32) s += expf(x[t * C + i] - top);
    out[t] = top + logf(s);
}
// --- log_sums refuses: do not run over the same elements
__global__ void log_sums(float* out, const float* x, int N, int C) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= N) return;
    float top = x[t];
    for (int i = 1; i < C; i++) {
        if (x[t * C + i] > top) top = x[t * C + i];
    }
    float s = 0.0f;
    for (int i = 0; i < C; i++) s += expf(x[t * C + i] - top);
    out[t] = top + logf(s);
}
// --- softmax_statistics refuses: not exp of an element
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += x_row[i] * x_row[i]; }
    maxima[row] = m;
    sums[row] = s;
}
// --- softmax_statistics refuses: `x_row` changes between the passes
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    x_row += C;
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += expf(x_row[i] - m); }
    maxima[row] = m;
    sums[row] = s;
}
// --- softmax_statistics refuses: it may lie in the row
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    sums[row] = 0.0f;
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += expf(x_row[i] - m); }
    maxima[row] = m;
    sums[row] = s;
}
// --- softmax_statistics refuses: may write the row
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    scaled(x_row + 1);
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += expf(x_row[i] - m); }
    maxima[row] = m;
    sums[row] = s;
}
// --- softmax_statistics refuses: no part of a sum of exponentials
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    float s = 0.0f;
    for (int i = 0; i < C; i++) { m += 1.0f; s += expf(x_row[i] - m); }
    maxima[row] = m;
    sums[row] = s;
}
// --- softmax_statistics refuses: is not known to hold float or double
__global__ void softmax_statistics(float* maxima, float* sums, const int* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const int* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += expf(x_row[i] - m); }
    maxima[row] = m;
    sums[row] = s;
}
// --- softmax_rows refuses: is used besides the three passes
__global__ void softmax_rows(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float top = -INFINITY;
        for (int i = 0; i < C; i++) {
            if (x[row * C + i] > top) {
                top = x[row * C + i];
            }
        }
        double total = 0.0;
        for (int i = 0; i < C; i++) {
            out[row * C + i] = expf(x[row * C + i] - top);
            total += out[row * C + i];
        }
        for (int i = 0; i < C; i++) {
            out[row * C + i] /= out[row * C];
        }
    }
}
// --- softmax_rows refuses: a sum in a later loop is not followed
__global__ void softmax_rows(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float top = -INFINITY;
        for (int i = 0; i < C; i++) {
            if (x[row * C + i] > top) {
                top = x[row * C + i];
            }
        }
        double total = 0.0;
        for (int i = 0; i < C; i++) {
            out[row * C + i] = expf(x[row * C + i] - top);
        }
        for (int i = 0; i < C; i++) {
            out[row * C + i] /= (float)total;
        }
    }
}
