// --- column_means applies
__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks, 128>>>(means, most, x, rows, cols);
}
// --- column_means becomes
__global__ void __launch_bounds__(1024) column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * 16 + threadIdx.x % 16;
    const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
    __shared__ float best_parts[64][16];
    __shared__ float sum_parts[64][16];
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        sum = 0;
        #pragma unroll 8
        for (int r = group; r < rows; r += 64) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        best_parts[group][lane] = best;
        sum_parts[group][lane] = sum;
    }
    __syncthreads();
    if (group == 0 && col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        for (int part = 0; part < 64; part++) {
            best = fmaxf(best, best_parts[part][lane]);
            sum += sum_parts[part][lane];
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks * 8, 1024>>>(means, most, x, rows, cols);
}
// --- smallest_of_columns applies
__global__ void smallest_of_columns(unsigned *where, const int *x, unsigned rows, unsigned columns) {
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        int least = 2147483647;
        unsigned at = 0;
        for (unsigned r = 0; r < rows; r++) {
            if (x[r * columns + c] < least) {
                least = x[r * columns + c];
                at = r;
            }
        }
        where[c] = at;
    }
}

void find_smallest(unsigned *where, const int *x, unsigned rows, unsigned columns) {
    smallest_of_columns<<<(columns + 127) / 128, 128>>>(where, x, rows, columns);
}
// --- smallest_of_columns becomes
__global__ void __launch_bounds__(1024) smallest_of_columns(unsigned *where, const int *x, unsigned rows, unsigned columns) {
    unsigned c = blockIdx.x * 16 + threadIdx.x % 16;
    const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
    __shared__ int least_parts[64][16];
    __shared__ unsigned at_parts[64][16];
    if (c < columns) {
        int least = 2147483647;
        unsigned at = 0;
        #pragma unroll 4
        for (unsigned r = group; r < rows; r += 64) {
            if (x[r * columns + c] < least) {
                least = x[r * columns + c];
                at = r;
            }
        }
        least_parts[group][lane] = least;
        at_parts[group][lane] = at;
    }
    __syncthreads();
    if (group == 0 && c < columns) {
        int least = 2147483647;
        unsigned at = 0;
        for (int part = 0; part < 64; part++) {
            const int other_least = least_parts[part][lane];
            const unsigned other_at = at_parts[part][lane];
            if (other_least < least || (other_least == least && other_at < at)) { least = other_least; at = other_at; }
        }
        where[c] = at;
    }
}

void find_smallest(unsigned *where, const int *x, unsigned rows, unsigned columns) {
    smallest_of_columns<<<((columns + 127) / 128) * 8, 1024>>>(where, x, rows, columns);
}
// --- spread_of_columns applies
__global__ void spread_of_columns(const float *__restrict__ in, float *__restrict__ centre, float *__restrict__ spread,
                                  int height, int width) {
    const int x = threadIdx.x + blockIdx.x * blockDim.x;
    float sum = 0.f, squares = 0.f;
    if (x >= width) return;
    const float *top = in + x;
    // The mean first.
    for (int y = 0; y < height; ++y) sum += top[y * width];
    const float mean = sum / height;
    centre[x] = mean;
    // Then what lies around it.
    #pragma unroll 4
    for (int y = 0; y < height; ++y) {
        const float d = top[y * width] - mean;
        squares += d * d;
    }
    if (height > 1) {
        spread[x] = sqrtf(squares / (height - 1));
    } else {
        spread[x] = 0.f;
    }
}

void spread(const float *in, float *centre, float *spread, int height, int width) {
    spread_of_columns<<<(width + 63) / 64, 64>>>(in, centre, spread, height, width);
}
// --- spread_of_columns becomes
__global__ void __launch_bounds__(1024) spread_of_columns(const float *__restrict__ in, float *__restrict__ centre, float *__restrict__ spread,
                                  int height, int width) {
    const int x = blockIdx.x * 16 + threadIdx.x % 16;
    const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
    __shared__ float sum_parts[64][16];
    __shared__ float squares_parts[64][16];
    if (x < width) {
        float sum = 0.f, squares = 0.f;
        const float *top = in + x;
        // The mean first.
        #pragma unroll 8
        for (int y = group; y < height; y += 64) sum += top[y * width];
        sum_parts[group][lane] = sum;
    }
    __syncthreads();
    if (group == 0 && x < width) {
        float sum = 0.f, squares = 0.f;
        const float *top = in + x;
        for (int part = 0; part < 64; part++) {
            sum += sum_parts[part][lane];
        }
        const float mean = sum / height;
        centre[x] = mean;
    }
    __syncthreads();
    if (x < width) {
        float sum = 0.f, squares = 0.f;
        const float *top = in + x;
        for (int part = 0; part < 64; part++) {
            sum += sum_parts[part][lane];
        }
        const float mean = sum / height;
        // Then what lies around it.
        #pragma unroll 8
        for (int y = group; y < height; y += 64) {
            const float d = top[y * width] - mean;
            squares += d * d;
        }
        squares_parts[group][lane] = squares;
    }
    __syncthreads();
    if (group == 0 && x < width) {
        float sum = 0.f, squares = 0.f;
        const float *top = in + x;
        for (int part = 0; part < 64; part++) {
            sum += sum_parts[part][lane];
        }
        const float mean = sum / height;
        for (int part = 0; part < 64; part++) {
            squares += squares_parts[part][lane];
        }
        if (height > 1) {
            spread[x] = sqrtf(squares / (height - 1));
        } else {
            spread[x] = 0.f;
        }
    }
}

void spread(const float *in, float *centre, float *spread, int height, int width) {
    spread_of_columns<<<((width + 63) / 64) * 4, 1024>>>(in, centre, spread, height, width);
}
// --- shares_of_columns applies
__global__ void shares_of_columns(float* __restrict__ out, const float* __restrict__ logits, unsigned tokens, unsigned classes) {
  unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < classes) {
    float most = -1e30f;
    for (unsigned t = 0; t < tokens; t++) {
      if (logits[t * classes + c] > most) most = logits[t * classes + c];
    }
    float total = 0.0f;
    for (unsigned t = 0; t < tokens; t++) { total += expf(logits[t * classes + c] - most); }
    float scale = 1.0f / total;
    for (unsigned t = 0; t < tokens; t++) {
      out[t * classes + c] = expf(logits[t * classes + c] - most) * scale;
    }
  }
}

void shares(float* out, const float* logits, unsigned tokens, unsigned classes) {
  shares_of_columns<<<(classes + 31) / 32, 32>>>(out, logits, tokens, classes);
}
// --- shares_of_columns becomes
__global__ void __launch_bounds__(1024) shares_of_columns(float* __restrict__ out, const float* __restrict__ logits, unsigned tokens, unsigned classes) {
  unsigned c = blockIdx.x * 16 + threadIdx.x % 16;
  const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
  __shared__ float most_parts[64][16];
  __shared__ float total_parts[64][16];
  if (c < classes) {
    float most = -1e30f;
    #pragma unroll 4
    for (unsigned t = group; t < tokens; t += 64) {
      if (logits[t * classes + c] > most) most = logits[t * classes + c];
    }
    most_parts[group][lane] = most;
  }
  __syncthreads();
  if (c < classes) {
    float most = -1e30f;
    for (int part = 0; part < 64; part++) {
      const float other_most = most_parts[part][lane];
      if (other_most > most) { most = other_most; }
    }
    float total = 0.0f;
    #pragma unroll 8
    for (unsigned t = group; t < tokens; t += 64) { total += expf(logits[t * classes + c] - most); }
    total_parts[group][lane] = total;
  }
  __syncthreads();
  if (c < classes) {
    float most = -1e30f;
    for (int part = 0; part < 64; part++) {
      const float other_most = most_parts[part][lane];
      if (other_most > most) { most = other_most; }
    }
    float total = 0.0f;
    for (int part = 0; part < 64; part++) {
      total += total_parts[part][lane];
    }
    float scale = 1.0f / total;
    #pragma unroll 4
    for (unsigned t = group; t < tokens; t += 64) {
      out[t * classes + c] = expf(logits[t * classes + c] - most) * scale;
    }
  }
}

void shares(float* out, const float* logits, unsigned tokens, unsigned classes) {
  shares_of_columns<<<((classes + 31) / 32) * 2, 1024>>>(out, logits, tokens, classes);
}
// --- scaled_columns applies
__global__ void scaled_columns(double *near_end, int *count, const double *v, int n, int m) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < m) {
        int i;
        double low, high;
        low = 1e300;
        high = -1e300;
        for (i = 0; i < n; i++) {
            low = fmin(low, v[i * m + k]);
            high = fmax(high, v[i * m + k]);
        }
        double far = high - low, sum = 0.0;
        if (far < 1e-6) far = 1.0;
        int above = 0;
        for (i = 0; i < n; i++) {
            double part = (v[i * m + k] - low) / far;
            sum += part;
            if (part > 0.5) above++;
        }
        near_end[k] = sum / n;
        count[k] = above;
        sum = 0.0;
        for (int up = n - 1; up >= 1; up--) sum += fabs(v[up * m + k] - v[(up - 1) * m + k]);
        near_end[k] += sum;
    }
}

void scaled(double *near_end, int *count, const double *v, int n, int m) {
    scaled_columns<<<(m + 255) / 256, 256>>>(near_end, count, v, n, m);
}
// --- scaled_columns becomes
__global__ void __launch_bounds__(1024) scaled_columns(double *near_end, int *count, const double *v, int n, int m) {
    int k = blockIdx.x * 16 + threadIdx.x % 16;
    const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
    __shared__ double high_parts[64][16];
    __shared__ double low_parts[64][16];
    __shared__ int above_parts[64][16];
    __shared__ double sum_parts[64][16];
    __shared__ double sum_parts_[64][16];
    if (k < m) {
        int i;
        double low, high;
        low = 1e300;
        high = -1e300;
        #pragma unroll 2
        for (i = group; i < n; i += 64) {
            low = fmin(low, v[i * m + k]);
            high = fmax(high, v[i * m + k]);
        }
        high_parts[group][lane] = high;
        low_parts[group][lane] = low;
    }
    __syncthreads();
    if (k < m) {
        int i;
        double low, high;
        low = 1e300;
        high = -1e300;
        for (int part_ = 0; part_ < 64; part_++) {
            high = fmax(high, high_parts[part_][lane]);
            low = fmin(low, low_parts[part_][lane]);
        }
        double far = high - low, sum = 0.0;
        if (far < 1e-6) far = 1.0;
        int above = 0;
        #pragma unroll 4
        for (i = group; i < n; i += 64) {
            double part = (v[i * m + k] - low) / far;
            sum += part;
            if (part > 0.5) above++;
        }
        above_parts[group][lane] = above;
        sum_parts[group][lane] = sum;
    }
    __syncthreads();
    if (group == 0 && k < m) {
        int i;
        double low, high;
        low = 1e300;
        high = -1e300;
        for (int part_ = 0; part_ < 64; part_++) {
            high = fmax(high, high_parts[part_][lane]);
            low = fmin(low, low_parts[part_][lane]);
        }
        double far = high - low, sum = 0.0;
        if (far < 1e-6) far = 1.0;
        int above = 0;
        for (int part_ = 0; part_ < 64; part_++) {
            above += above_parts[part_][lane];
            sum += sum_parts[part_][lane];
        }
        near_end[k] = sum / n;
        count[k] = above;
    }
    __syncthreads();
    if (k < m) {
        int i;
        double low, high;
        low = 1e300;
        high = -1e300;
        for (int part_ = 0; part_ < 64; part_++) {
            high = fmax(high, high_parts[part_][lane]);
            low = fmin(low, low_parts[part_][lane]);
        }
        double far = high - low, sum = 0.0;
        if (far < 1e-6) far = 1.0;
        int above = 0;
        for (int part_ = 0; part_ < 64; part_++) {
            above += above_parts[part_][lane];
            sum += sum_parts[part_][lane];
        }
        sum = 0.0;
        sum = 0;
        #pragma unroll 2
        for (int up = (n - 1) - group; up >= 1; up -= 64) sum += fabs(v[up * m + k] - v[(up - 1) * m + k]);
        sum_parts_[group][lane] = sum;
    }
    __syncthreads();
    if (group == 0 && k < m) {
        int i;
        double low, high;
        low = 1e300;
        high = -1e300;
        for (int part_ = 0; part_ < 64; part_++) {
            high = fmax(high, high_parts[part_][lane]);
            low = fmin(low, low_parts[part_][lane]);
        }
        double far = high - low, sum = 0.0;
        if (far < 1e-6) far = 1.0;
        int above = 0;
        for (int part_ = 0; part_ < 64; part_++) {
            above += above_parts[part_][lane];
            sum += sum_parts[part_][lane];
        }
        sum = 0.0;
        for (int part_ = 0; part_ < 64; part_++) {
            sum += sum_parts_[part_][lane];
        }
        near_end[k] += sum;
    }
}

void scaled(double *near_end, int *count, const double *v, int n, int m) {
    scaled_columns<<<((m + 255) / 256) * 16, 1024>>>(near_end, count, v, n, m);
}
// --- moments_of_columns applies
__global__ void moments_of_columns(const float* x, float* mean, float* skew, size_t rows, size_t columns) {
    size_t c = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (c >= columns) { return; }
    float m = 0.f;
    size_t r = 0;
    while (r < rows) { m += x[r * columns + c]; ++r; }
    m /= rows;
    float m2 = 0.f, m3 = 0.f;
    for (size_t k = 0; k < rows; k++) {
        float d = x[k * columns + c] - m;
        m2 += d * d;
        m3 += d * d * d;
    }
    mean[c] = m;
    skew[c] = m3 / (m2 * sqrtf(m2) + 1e-6f);
}

void run(const float* x, float* mean, float* skew, size_t rows, size_t columns) {
    moments_of_columns<<<(columns + 63) / 64, 64>>>(x, mean, skew, rows, columns);
}
// --- moments_of_columns becomes
__global__ void __launch_bounds__(1024) moments_of_columns(const float* x, float* mean, float* skew, size_t rows, size_t columns) {
    size_t c = blockIdx.x * 16 + threadIdx.x % 16;
    const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
    __shared__ float m_parts[64][16];
    __shared__ float m2_parts[64][16];
    __shared__ float m3_parts[64][16];
    if (c < columns) {
        float m = 0.f;
        size_t r = 0;
        r = group;
        #pragma unroll 8
        while (r < rows) { m += x[r * columns + c]; r += 64; }
        m_parts[group][lane] = m;
    }
    __syncthreads();
    if (c < columns) {
        float m = 0.f;
        size_t r = 0;
        for (int part = 0; part < 64; part++) {
            m += m_parts[part][lane];
        }
        m /= rows;
        float m2 = 0.f, m3 = 0.f;
        #pragma unroll 8
        for (size_t k = group; k < rows; k += 64) {
            float d = x[k * columns + c] - m;
            m2 += d * d;
            m3 += d * d * d;
        }
        m2_parts[group][lane] = m2;
        m3_parts[group][lane] = m3;
    }
    __syncthreads();
    if (group == 0 && c < columns) {
        float m = 0.f;
        size_t r = 0;
        for (int part = 0; part < 64; part++) {
            m += m_parts[part][lane];
        }
        m /= rows;
        float m2 = 0.f, m3 = 0.f;
        for (int part = 0; part < 64; part++) {
            m2 += m2_parts[part][lane];
            m3 += m3_parts[part][lane];
        }
        mean[c] = m;
        skew[c] = m3 / (m2 * sqrtf(m2) + 1e-6f);
    }
}

void run(const float* x, float* mean, float* skew, size_t rows, size_t columns) {
    moments_of_columns<<<((columns + 63) / 64) * 4, 1024>>>(x, mean, skew, rows, columns);
}
// --- column_means refuses: that is no sum, maximum or minimum
__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            float v = here[r * cols];
            sum = 0.5f * sum + v;
            best = fmaxf(best, v);
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks, 128>>>(means, most, x, rows, cols);
}
// --- column_means refuses: it is not known that each round writes another
__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            float v = here[r * cols];
            sum += v;
            most[col] = v;
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks, 128>>>(means, most, x, rows, cols);
}
// --- column_means refuses: ends the loop early
__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            float v = here[r * cols]; if (v < 0) break;
            sum += v;
            best = fmaxf(best, v);
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks, 128>>>(means, most, x, rows, cols);
}
// --- column_means refuses: does not tell blocks of whole warps
__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks, threads>>>(means, most, x, rows, cols);
}
// --- column_means refuses: a step writes `most`, where both may lie in one buffer
__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        most[col] = 0.0f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks, 128>>>(means, most, x, rows, cols);
}
// --- column_means refuses: neighbouring threads do not read neighbouring columns
__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        const float* here = x + col * rows;
        float sum = means[col];
        float best = -1e30f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks, 128>>>(means, most, x, rows, cols);
}
// --- centred_columns refuses: which all threads need
__global__ void centred_columns(float* mean, float* apart, const float* x, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        float sum = 0.0f, m, most = 0.0f;
        for (int r = 0; r < rows; r++) { sum += x[r * columns + c]; }
        mean[c] = m = sum / rows;
        for (int r = 0; r < rows; r++) { most = fmaxf(most, fabsf(x[r * columns + c] - m)); }
        apart[c] = most;
    }
}

void run(float* mean, float* apart, const float* x, int rows, int columns) {
    centred_columns<<<(columns + 127) / 128, 128>>>(mean, apart, x, rows, columns);
}
// --- centred_columns refuses: each step begins anew
__global__ void centred_columns(float* apart, const float* x, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        float sum = 0.0f, most = 0.0f;
        for (int r = 0; r < rows; r++) { sum += x[r * columns + c]; }
        rows = min(rows, 100);
        for (int r = 0; r < rows; r++) { most = fmaxf(most, fabsf(x[r * columns + c] - sum)); }
        apart[c] = most;
    }
}

void run(float* apart, const float* x, int rows, int columns) {
    centred_columns<<<(columns + 127) / 128, 128>>>(apart, x, rows, columns);
}
// --- centred_columns refuses: is read again before each step, and a step writes `x`
__global__ void centred_columns(float* x, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        float most = x[c];
        for (int r = 1; r < rows; r++) { most = fmaxf(most, x[r * columns + c]); }
        for (int r = 0; r < rows; r++) { x[r * columns + c] -= most; }
    }
}

void run(float* x, int rows, int columns) { centred_columns<<<(columns + 127) / 128, 128>>>(x, rows, columns); }
// --- centred_columns refuses: it is not known that each round writes another element
__global__ void centred_columns(float* __restrict__ y, const float* __restrict__ x, int rows, int columns, int apart) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        float most = 0.0f;
        for (int r = 0; r < rows; r++) { most = fmaxf(most, x[r * columns + c]); }
        for (int r = 0; r < rows; r++) { y[r * apart + c] = x[r * columns + c] - most; }
    }
}

void run(float* y, const float* x, int rows, int columns, int apart) {
    centred_columns<<<(columns + 127) / 128, 128>>>(y, x, rows, columns, apart);
}
// --- centred_columns refuses: `size->rows` is read again before each step, and a step writes `mean`
struct Size { int rows, columns; };
__global__ void centred_columns(float* mean, float* apart, const float* x, const Size* size, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        const int rows = size->rows;
        float sum = 0.0f, most = 0.0f;
        for (int r = 0; r < rows; r++) { sum += x[r * columns + c]; }
        mean[c] = sum / rows;
        for (int r = 0; r < rows; r++) { most = fmaxf(most, fabsf(x[r * columns + c] - sum / rows)); }
        apart[c] = most;
    }
}

void run(float* mean, float* apart, const float* x, const Size* size, int columns) {
    centred_columns<<<(columns + 127) / 128, 128>>>(mean, apart, x, size, columns);
}
