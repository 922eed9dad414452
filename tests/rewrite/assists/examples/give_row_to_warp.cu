// --- row_scores applies
__global__ void row_scores(float* best, double* total, const float* x, const float* start, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        const float* here = x + row * C;
        float most = -1e30f;
        float least = 1e30f;
        double sum = start[row];
        for (int i = 0; i < C; i++) {
            if (here[i] > most) { most = here[i]; }
            least = fminf(least, here[i]);
            sum += here[i];
        }
        // Both are written once.
        best[row] = most - least;
        total[row] = sum;
    }
}
void score(float* best, double* total, const float* x, const float* start, int N, int C) {
    const int blocks = (N + 127) / 128;
    row_scores<<<blocks, 128>>>(best, total, x, start, N, C);
}
// --- row_scores becomes
__global__ void row_scores(float* best, double* total, const float* x, const float* start, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < N) {
        const float* here = x + row * C;
        float most = -1e30f;
        float least = 1e30f;
        double sum = start[row];
        const double sum_before = sum;
        sum = 0;
        for (int i = lane; i < C; i += 32) {
            if (here[i] > most) { most = here[i]; }
            least = fminf(least, here[i]);
            sum += here[i];
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            least = fminf(least, __shfl_xor_sync(0xffffffffu, least, offset));
            const float other_most = __shfl_xor_sync(0xffffffffu, most, offset);
            if (other_most > most) { most = other_most; }
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        sum += sum_before;
        // Both are written once.
        __syncwarp();
        if (lane == 0) {
            best[row] = most - least;
            total[row] = sum;
        }
    }
}
void score(float* best, double* total, const float* x, const float* start, int N, int C) {
    const int blocks = (N + 127) / 128;
    row_scores<<<blocks * 32, 128>>>(best, total, x, start, N, C);
}
// --- blend_rows applies
__global__ void blend_rows(float* out, float* size, const float* x, const float* share, int N, int C, int K) {
  const unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= N) { return; }
  float* own = out + (blockIdx.y * N + row) * C;
  for (int i = 0; i < C; i++) { own[i] = 0.0f; }
  for (int k = 0; k < K; k++) {
    const float by = share[row * K + k];
    if (by == 0.0f) { continue; }
    for (int i = 0; i < C; i++) { own[i] += by * x[k * C + i]; }
  }
  size[blockIdx.y * N + row] = own[C - 1];
  float norm = 0.0f;
  for (int i = 1; i < C; ++i) {
    norm += own[i] * own[i];
    own[i] *= 0.5f;
  }
  own[0] = norm;
}
void blend(float* out, float* size, const float* x, const float* share, int N, int C, int K, int planes) {
  blend_rows<<<dim3((N + 63) / 64, planes), 64>>>(out, size, x, share, N, C, K);
}
// --- blend_rows becomes
__global__ void blend_rows(float* out, float* size, const float* x, const float* share, int N, int C, int K) {
  const unsigned int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= N) { return; }
  float* own = out + (blockIdx.y * N + row) * C;
  for (int i = lane; i < C; i += 32) { own[i] = 0.0f; }
  __syncwarp();
  for (int k = 0; k < K; k++) {
    const float by = share[row * K + k];
    if (by == 0.0f) { continue; }
    __syncwarp();
    for (int i = lane; i < C; i += 32) { own[i] += by * x[k * C + i]; }
    __syncwarp();
  }
  __syncwarp();
  if (lane == 0) { size[blockIdx.y * N + row] = own[C - 1]; }
  __syncwarp();
  float norm = 0.0f;
  for (int i = 1 + lane; i < C; i += 32) {
    norm += own[i] * own[i];
    own[i] *= 0.5f;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    norm += __shfl_xor_sync(0xffffffffu, norm, offset);
  }
  __syncwarp();
  if (lane == 0) { own[0] = norm; }
}
void blend(float* out, float* size, const float* x, const float* share, int N, int C, int K, int planes) {
  blend_rows<<<dim3(((N + 63) / 64) * 32, planes), 64>>>(out, size, x, share, N, C, K);
}
// --- best_of_rows applies
__global__ void best_of_rows(int *where, float *best, float *least, const float *x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float most = x[row * columns], low = most;
        int at = 0;
        for (int c = 1; c < columns; c++) {
            float v = x[row * columns + c];
            if (most < v) {
                at = c;
                most = v;
            }
            low = v < low ? v : low;
        }
        where[row] = at;
        best[row] = most;
        least[row] = low;
    }
}

void find_best(int *where, float *best, float *least, const float *x, int rows, int columns) {
    best_of_rows<<<(rows + 63) / 64, 64>>>(where, best, least, x, rows, columns);
}
// --- best_of_rows becomes
__global__ void best_of_rows(int *where, float *best, float *least, const float *x, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < rows) {
        float most = x[row * columns], low = most;
        int at = 0;
        for (int c = 1 + lane; c < columns; c += 32) {
            float v = x[row * columns + c];
            if (most < v) {
                at = c;
                most = v;
            }
            low = v < low ? v : low;
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            const float other_low = __shfl_xor_sync(0xffffffffu, low, offset);
            if (other_low < low) { low = other_low; }
            const float other_most = __shfl_xor_sync(0xffffffffu, most, offset);
            const int other_at = __shfl_xor_sync(0xffffffffu, at, offset);
            if (other_most > most || (other_most == most && other_at < at)) { most = other_most; at = other_at; }
        }
        __syncwarp();
        if (lane == 0) {
            where[row] = at;
            best[row] = most;
            least[row] = low;
        }
    }
}

void find_best(int *where, float *best, float *least, const float *x, int rows, int columns) {
    best_of_rows<<<((rows + 63) / 64) * 32, 64>>>(where, best, least, x, rows, columns);
}
// --- running_shares applies
__global__ void running_shares(float *so_far, const float *x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float total = 0.0f;
        for (int c = 0; c < columns; c++) {
            float v = fabsf(x[row * columns + c]);
            total += v;
            so_far[row * columns + c] = total;
        }
        float sum = 0.5f;
        for (int c = 0; c < columns; c++) {
            const float before = sum;
            sum = sum + so_far[row * columns + c];
            so_far[row * columns + c] = before / (total + 1.0f);
        }
        so_far[row * columns] = sum;
    }
}

void share(float *so_far, const float *x, int rows, int columns) {
    running_shares<<<(rows + 63) / 64, 64>>>(so_far, x, rows, columns);
}
// --- running_shares becomes
__global__ void running_shares(float *so_far, const float *x, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < rows) {
        float total = 0.0f;
        for (int first = 0; first < columns; first += 4 * 32) {
            float total_parts[4] = {};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int c = first + step * 32 + lane;
                if (c < columns) { float v = fabsf(x[row * columns + c]); total_parts[step] = v; }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first + step * 32 < columns)) { break; }
                const int c = first + step * 32 + lane;
                float total_part = total_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const float other = __shfl_up_sync(0xffffffffu, total_part, offset);
                    if (lane >= offset) { total_part += other; }
                }
                float total_before = total, total_whole = total;
                total_whole += __shfl_sync(0xffffffffu, total_part, 31);
                total_part = __shfl_up_sync(0xffffffffu, total_part, 1);
                if (lane > 0) { total_before += total_part; }
                if (c < columns) {
                    float total = total_before;
                    float v = fabsf(x[row * columns + c]);
                    total += v;
                    so_far[row * columns + c] = total;
                }
                total = total_whole;
            }
        }
        __syncwarp();
        float sum = 0.5f;
        for (int first = 0; first < columns; first += 4 * 32) {
            float sum_parts[4] = {};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int c = first + step * 32 + lane;
                if (c < columns) { sum_parts[step] = so_far[row * columns + c]; }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first + step * 32 < columns)) { break; }
                const int c = first + step * 32 + lane;
                float sum_part = sum_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const float other = __shfl_up_sync(0xffffffffu, sum_part, offset);
                    if (lane >= offset) { sum_part += other; }
                }
                float sum_before = sum, sum_whole = sum;
                sum_whole += __shfl_sync(0xffffffffu, sum_part, 31);
                sum_part = __shfl_up_sync(0xffffffffu, sum_part, 1);
                if (lane > 0) { sum_before += sum_part; }
                if (c < columns) {
                    float sum = sum_before;
                    const float before = sum;
                    sum = sum + so_far[row * columns + c];
                    so_far[row * columns + c] = before / (total + 1.0f);
                }
                sum = sum_whole;
            }
        }
        __syncwarp();
        if (lane == 0) { so_far[row * columns] = sum; }
    }
}

void share(float *so_far, const float *x, int rows, int columns) {
    running_shares<<<((rows + 63) / 64) * 32, 64>>>(so_far, x, rows, columns);
}
// --- row_quads applies
__global__ void row_quads(float* out, const float* x, int rows, int quads) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float sum = 0.0f;
        for (int q = 0; q < quads; q++) {
            alignas(16) float part[4];
            *reinterpret_cast<float4*>(part) = reinterpret_cast<const float4*>(x)[r * quads + q];
            for (int k = 0; k < 4; k++) {
                sum += part[k];
            }
        }
        out[r] = sum;
    }
}
void run_row_quads(float* out, const float* x, int rows, int quads) {
    row_quads<<<(rows + 127) / 128, 128>>>(out, x, rows, quads);
}
// --- row_quads becomes
__global__ void row_quads(float* out, const float* x, int rows, int quads) {
    int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (r < rows) {
        float sum = 0.0f;
        for (int q = 0; q < quads; q++) {
            alignas(16) float part[4];
            *reinterpret_cast<float4*>(part) = reinterpret_cast<const float4*>(x)[r * quads + q];
            const float sum_before = sum;
            sum = 0;
            for (int k = lane; k < 4; k += 32) {
                sum += part[k];
            }
            for (int offset = 16; offset > 0; offset /= 2) {
                sum += __shfl_xor_sync(0xffffffffu, sum, offset);
            }
            sum += sum_before;
        }
        __syncwarp();
        if (lane == 0) { out[r] = sum; }
    }
}
void run_row_quads(float* out, const float* x, int rows, int quads) {
    row_quads<<<((rows + 127) / 128) * 32, 128>>>(out, x, rows, quads);
}
// --- above_rows applies
__global__ void above_rows(int* counts, float* losses, const float* x, float level, int N, int C) {
    const int tid = threadIdx.x, bid = blockIdx.x;
    const int row = bid * blockDim.x + tid;
    int i;
    if (row >= N) return;
    int count = 0;
    float loss = 0.0f;
    for (i = 0; i < C; i++) {
        if (x[row * C + i] > level) count++;
    }
    for (i = 0; i < C; ++i) {
        float d = fabsf(x[row * C + i]);
        if (d < level)
            loss += 0.5f * d * d;
        else
            loss += level * (d - 0.5f * level);
    }
    counts[row] = count;
    losses[row] = loss;
}

void run_above_rows(int* counts, float* losses, const float* x, float level, int N, int C) {
    above_rows<<<(N + 127) / 128, 128>>>(counts, losses, x, level, N, C);
}
// --- above_rows becomes
__global__ void above_rows(int* counts, float* losses, const float* x, float level, int N, int C) {
    const int tid = threadIdx.x, bid = blockIdx.x;
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    int i;
    if (row >= N) return;
    int count = 0;
    float loss = 0.0f;
    for (i = lane; i < C; i += 32) {
        if (x[row * C + i] > level) count++;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        count += __shfl_xor_sync(0xffffffffu, count, offset);
    }
    for (i = lane; i < C; i += 32) {
        float d = fabsf(x[row * C + i]);
        if (d < level)
            loss += 0.5f * d * d;
        else
            loss += level * (d - 0.5f * level);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        loss += __shfl_xor_sync(0xffffffffu, loss, offset);
    }
    __syncwarp();
    if (lane == 0) {
        counts[row] = count;
        losses[row] = loss;
    }
}

void run_above_rows(int* counts, float* losses, const float* x, float level, int N, int C) {
    above_rows<<<((N + 127) / 128) * 32, 128>>>(counts, losses, x, level, N, C);
}
// --- typed_rows applies
template <typename scalar_t>
__global__ void typed_rows(scalar_t* out, const scalar_t* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        scalar_t total = scalar_t(0);
        scalar_t most = x[row * C];
        int i = 0;
        while (i < C) {
            total += x[row * C + i];
            most = x[row * C + i] > most ? x[row * C + i] : most;
            i += 1;
        }
        out[row] = total + most;
    }
}

void run_typed_rows(float* out, const float* x, int N, int C) {
    typed_rows<float><<<(N + 63) / 64, 64>>>(out, x, N, C);
}
// --- typed_rows becomes
template <typename scalar_t>
__global__ void typed_rows(scalar_t* out, const scalar_t* x, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < N) {
        scalar_t total = scalar_t(0);
        scalar_t most = x[row * C];
        int i = lane;
        while (i < C) {
            total += x[row * C + i];
            most = x[row * C + i] > most ? x[row * C + i] : most;
            i += 32;
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            const scalar_t other_most = __shfl_xor_sync(0xffffffffu, most, offset);
            if (other_most > most) { most = other_most; }
            total += __shfl_xor_sync(0xffffffffu, total, offset);
        }
        __syncwarp();
        if (lane == 0) { out[row] = total + most; }
    }
}

void run_typed_rows(float* out, const float* x, int N, int C) {
    typed_rows<float><<<((N + 63) / 64) * 32, 64>>>(out, x, N, C);
}
// --- highest_so_far applies
__global__ void highest_so_far(const float *__restrict__ heights, float *__restrict__ peaks, float *highest, int paths, int steps) {
    const int path = blockIdx.x * blockDim.x + threadIdx.x;
    int s;
    if (path >= paths) return;
    const float *own = heights + (size_t)path * steps;
    float *peak = peaks + (size_t)path * steps;
    float top = -1e30f;
    for (s = 0; s < steps; ++s) {
        peak[s] = top;
        top = fmaxf(top, own[s]);
    }
    highest[path] = top;
}

void climb(const float *heights, float *peaks, float *highest, int paths, int steps) {
    highest_so_far<<<(paths + 63) / 64, 64>>>(heights, peaks, highest, paths, steps);
}
// --- highest_so_far becomes
__global__ void highest_so_far(const float *__restrict__ heights, float *__restrict__ peaks, float *highest, int paths, int steps) {
    const int path = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    int s;
    if (path >= paths) return;
    const float *own = heights + (size_t)path * steps;
    float *peak = peaks + (size_t)path * steps;
    float top = -1e30f;
    for (int first = 0; first < steps; first += 4 * 32) {
        float top_parts[4] = {top, top, top, top};
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            const int s = first + step * 32 + lane;
            if (s < steps) { top_parts[step] = fmaxf(top_parts[step], own[s]); }
        }
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            if (!(first + step * 32 < steps)) { break; }
            const int s = first + step * 32 + lane;
            float top_part = top_parts[step];
            for (int offset = 1; offset < 32; offset *= 2) {
                const float other = __shfl_up_sync(0xffffffffu, top_part, offset);
                if (lane >= offset) { top_part = fmaxf(top_part, other); }
            }
            float top_before = top, top_whole = top;
            top_whole = fmaxf(top_whole, __shfl_sync(0xffffffffu, top_part, 31));
            top_part = __shfl_up_sync(0xffffffffu, top_part, 1);
            if (lane > 0) { top_before = fmaxf(top_before, top_part); }
            if (s < steps) {
                float top = top_before;
                peak[s] = top;
                top = fmaxf(top, own[s]);
            }
            top = top_whole;
        }
    }
    __syncwarp();
    if (lane == 0) { highest[path] = top; }
}

void climb(const float *heights, float *peaks, float *highest, int paths, int steps) {
    highest_so_far<<<((paths + 63) / 64) * 32, 64>>>(heights, peaks, highest, paths, steps);
}
// --- lowest_from_the_end applies
__global__ void lowest_from_the_end(double* __restrict__ out, const double* __restrict__ x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double low = x[row * columns + columns - 1];
        for (int c = columns - 1; c >= 0; c--) {
            const double v = x[row * columns + c];
            if (v < low) { low = v; }
            out[row * columns + c] = v - low;
        }
    }
}

void run(double* out, const double* x, int rows, int columns) {
    lowest_from_the_end<<<(rows + 63) / 64, 64>>>(out, x, rows, columns);
}
// --- lowest_from_the_end becomes
__global__ void lowest_from_the_end(double* __restrict__ out, const double* __restrict__ x, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < rows) {
        double low = x[row * columns + columns - 1];
        __syncwarp();
        for (int first = columns - 1; first >= 0; first -= 4 * 32) {
            double low_parts[4] = {low, low, low, low};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int c = first - step * 32 - lane;
                if (c >= 0) { const double v = x[row * columns + c]; if ((v) < low_parts[step]) { low_parts[step] = v; } }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first - step * 32 >= 0)) { break; }
                const int c = first - step * 32 - lane;
                double low_part = low_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const double other = __shfl_up_sync(0xffffffffu, low_part, offset);
                    if (lane >= offset) { if (other < low_part) { low_part = other; } }
                }
                double low_before = low, low_whole = low;
                const double other = __shfl_sync(0xffffffffu, low_part, 31);
                if (other < low_whole) { low_whole = other; }
                low_part = __shfl_up_sync(0xffffffffu, low_part, 1);
                if (lane > 0) { if (low_part < low_before) { low_before = low_part; } }
                if (c >= 0) {
                    double low = low_before;
                    const double v = x[row * columns + c];
                    if (v < low) { low = v; }
                    out[row * columns + c] = v - low;
                }
                low = low_whole;
            }
        }
    }
}

void run(double* out, const double* x, int rows, int columns) {
    lowest_from_the_end<<<((rows + 63) / 64) * 32, 64>>>(out, x, rows, columns);
}
// --- places_of_kept applies
__global__ void places_of_kept(long long *__restrict__ places, long long *counts, const int *__restrict__ values, int limit,
                               unsigned rows, unsigned length) {
  unsigned r = threadIdx.x + blockDim.x * blockIdx.x;
  if (r < rows) {
    long long at = r * length;
    for (unsigned i = 0; i < length; i++) {
      const int value = values[r * length + i];
      places[r * length + i] = at;
      if (value % 7 < limit) at++;
    }
    counts[r] = at;
  }
}

void keep(long long *places, long long *counts, const int *values, int limit, unsigned rows, unsigned length) {
  places_of_kept<<<(rows + 127) / 128, 128>>>(places, counts, values, limit, rows, length);
}
// --- places_of_kept becomes
__global__ void places_of_kept(long long *__restrict__ places, long long *counts, const int *__restrict__ values, int limit,
                               unsigned rows, unsigned length) {
  unsigned r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (r < rows) {
    long long at = r * length;
    for (unsigned first = 0; first < length; first += 4 * 32) {
        long long at_parts[4] = {};
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            const unsigned i = first + step * 32 + lane;
            if (i < length) { const int value = values[r * length + i]; at_parts[step] = (value % 7 < limit) ? (1) : 0; }
        }
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            if (!(first + step * 32 < length)) { break; }
            const unsigned i = first + step * 32 + lane;
            long long at_part = at_parts[step];
            for (int offset = 1; offset < 32; offset *= 2) {
                const long long other = __shfl_up_sync(0xffffffffu, at_part, offset);
                if (lane >= offset) { at_part += other; }
            }
            long long at_before = at, at_whole = at;
            at_whole += __shfl_sync(0xffffffffu, at_part, 31);
            at_part = __shfl_up_sync(0xffffffffu, at_part, 1);
            if (lane > 0) { at_before += at_part; }
            if (i < length) {
                long long at = at_before;
                const int value = values[r * length + i];
                places[r * length + i] = at;
                if (value % 7 < limit) at++;
            }
            at = at_whole;
        }
    }
    __syncwarp();
    if (lane == 0) { counts[r] = at; }
  }
}

void keep(long long *places, long long *counts, const int *values, int limit, unsigned rows, unsigned length) {
  places_of_kept<<<((rows + 127) / 128) * 32, 128>>>(places, counts, values, limit, rows, length);
}
// --- running_product applies
__global__ void running_product(unsigned *y, const unsigned *x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        unsigned product = 1;
        for (int c = 0; c < columns; c++) {
            unsigned next = product * x[row * columns + c];
            y[row * columns + c] = next - product;
            product = next;
        }
    }
}

void multiply(unsigned *y, const unsigned *x, int rows, int columns) {
    running_product<<<(rows + 63) / 64, 64>>>(y, x, rows, columns);
}
// --- running_product becomes
__global__ void running_product(unsigned *y, const unsigned *x, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < rows) {
        unsigned product = 1;
        for (int first = 0; first < columns; first += 4 * 32) {
            unsigned product_parts[4] = {1, 1, 1, 1};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int c = first + step * 32 + lane;
                if (c < columns) { product_parts[step] = x[row * columns + c]; }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first + step * 32 < columns)) { break; }
                const int c = first + step * 32 + lane;
                unsigned product_part = product_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const unsigned other = __shfl_up_sync(0xffffffffu, product_part, offset);
                    if (lane >= offset) { product_part *= other; }
                }
                unsigned product_before = product, product_whole = product;
                product_whole *= __shfl_sync(0xffffffffu, product_part, 31);
                product_part = __shfl_up_sync(0xffffffffu, product_part, 1);
                if (lane > 0) { product_before *= product_part; }
                if (c < columns) {
                    unsigned product = product_before;
                    unsigned next = product * x[row * columns + c];
                    y[row * columns + c] = next - product;
                    product = next;
                }
                product = product_whole;
            }
        }
    }
}

void multiply(unsigned *y, const unsigned *x, int rows, int columns) {
    running_product<<<((rows + 63) / 64) * 32, 64>>>(y, x, rows, columns);
}
// --- ends_of_runs applies
__global__ void ends_of_runs(long long *__restrict__ ends, const unsigned char *__restrict__ lengths, int rows, int runs) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        long long end = 0;
        for (int r = 0; r < runs; r++) ends[row * runs + r] = end += lengths[row * runs + r];
    }
}

void run(long long *ends, const unsigned char *lengths, int rows, int runs) {
    ends_of_runs<<<(rows + 63) / 64, 64>>>(ends, lengths, rows, runs);
}
// --- ends_of_runs becomes
__global__ void ends_of_runs(long long *__restrict__ ends, const unsigned char *__restrict__ lengths, int rows, int runs) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < rows) {
        long long end = 0;
        for (int first = 0; first < runs; first += 4 * 32) {
            long long end_parts[4] = {};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int r = first + step * 32 + lane;
                if (r < runs) { end_parts[step] = lengths[row * runs + r]; }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first + step * 32 < runs)) { break; }
                const int r = first + step * 32 + lane;
                long long end_part = end_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const long long other = __shfl_up_sync(0xffffffffu, end_part, offset);
                    if (lane >= offset) { end_part += other; }
                }
                long long end_before = end, end_whole = end;
                end_whole += __shfl_sync(0xffffffffu, end_part, 31);
                end_part = __shfl_up_sync(0xffffffffu, end_part, 1);
                if (lane > 0) { end_before += end_part; }
                if (r < runs) {
                    long long end = end_before;
                    ends[row * runs + r] = end += lengths[row * runs + r];
                }
                end = end_whole;
            }
        }
    }
}

void run(long long *ends, const unsigned char *lengths, int rows, int runs) {
    ends_of_runs<<<((rows + 63) / 64) * 32, 64>>>(ends, lengths, rows, runs);
}
// --- along refuses: carried from round to round
// Nothing tells what T is, and 16-bit types of a library have no shuffles.
template <typename T>
__global__ void along(T* out, const T* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    T sum = T(0);
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
template <typename T>
void run(T* out, const T* x, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- along refuses: carried from round to round
// A product of floats in another order may pass through an infinity and a zero, and then is no number.
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float value = 1.0f;
    for (int i = 0; i < C; i++) { value *= x[row * C + i]; }
    out[row] = value;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: does not count by one
// How far a thread went is told behind the loop.
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    int i;
    for (i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum / i;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: does not count by one
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    int i = 0;
    while (i < C) { if (x[row * C + i] < 0.0f) { i += 2; continue; } sum += x[row * C + i]; i++; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: may change on the way
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    int i = 0;
    while (i < C) { if (x[row * C + i] < 0.0f) { i++; } sum += x[row * C + i]; i++; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: `tid` is used beside `row`
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int tid = threadIdx.x;
    int row = blockIdx.x * blockDim.x + tid;
    if (row >= N) { return; }
    float sum = tid;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float v = 0.0f;
    for (int i = 0; i < C; i++) { v = 0.5f * v + x[row * C + i]; }
    out[row] = v;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i] * sum; out[row * C + i] = sum; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; if (sum > 1.0f) { sum = 0.0f; } out[row * C + i] = sum; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: both may lie in one buffer
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { out[row * C + i] = sum; sum += x[row * C + i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { float v = 0.5f * sum; sum += v + x[row * C + i]; out[row * C + i] = sum; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; sum += 1.0f; out[row * C + i] = sum; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { if (i > 0) { sum += x[row * C + i]; } else { sum -= 1.0f; } out[row * C + i] = sum; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float most = -1e30f;
    int at = 0;
    for (int i = 0; i < C; i++) {
        float v = x[row * C + i];
        if (v >= most) { most = v; at = i; }
    }
    out[row] = most;
    seen[row] = at;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float most = -1e30f;
    int at = 0;
    for (int i = 0; i < C; i++) {
        float v = x[row * C + i];
        if (v > most) { most = v; at = C - i; }
    }
    out[row] = most;
    seen[row] = at;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float most = -1e30f;
    int at = 0;
    for (int i = 0; i < C; i++) {
        float v = x[row * C + i];
        if (v > most) { most = v; at = at + 1; }
    }
    out[row] = most;
    seen[row] = at;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float most = -1e30f;
    int at = 0;
    for (int i = 0; i < C; i++) {
        float v = x[row * C + i];
        if (v > most) { most = v; at = i; } else { at = i; }
    }
    out[row] = most;
    seen[row] = at;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float most = -1e30f;
    int at = 0;
    for (int i = 0; i < C; i++) {
        float v = x[row * C + i];
        if (v > most) { most = v; at = i; } if (v == 0.0f) { at = i; }
    }
    out[row] = most;
    seen[row] = at;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float most = -1e30f;
    int at = 0;
    for (int i = 0; i < C; i++) {
        float v = x[row * C + i];
        most = most > v ? most : v;
    }
    out[row] = most;
    seen[row] = at;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { float v = x[row * C + i]; if (v < 0.0f) { continue; } sum += v; out[row * C + i] = sum; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: tells a thread what others did
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += atomicAdd(&seen[i], 1); out[row * C + i] = sum; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: carried from round to round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; { float sum = 2.0f; seen[row * C + i] = sum; } }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: may be rounded in each round
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    int sum = 0;
    for (int i = 0; i < C; i++) { sum += 0.5f * x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: may write what it is handed
__device__ void put(float* at, float v) { at[1] = v; }
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) { put(&out[row * C + i], x[row * C + i]); }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: writes memory on the way
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
    float v = out[row] += 1.0f;
    out[row] = v;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: both may lie in one buffer
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) { out[row * C + i] = x[row * C + i] - x[row * C + C - 1 - i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: another element
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) { out[row * C + i / 2] = x[row * C + i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: ends the loop early
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) { if (x[row * C + i] > 1.0f) { break; } out[row * C + i] = 0.0f; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: may change on the way
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < seen[row]; i++) { out[row * C + i] = x[row * C + i]; }
    for (int i = 0; i < C; i++) { out[row * C + i] += x[row * C + i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: does not count by one
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i += 2) { sum += x[row * C + i]; }
    out[row] = sum;
    for (int i = 0; i < C; i++) { out[row * C + i] = 0.0f + x[row * C + i]; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: tells a thread what others did
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
    int k = atomicAdd(seen, 1);
    out[row] += k;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: beside `row`
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
    out[row] += threadIdx.x;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: does not count by one
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
    int k = C;
    while (k > 0) { out[row] += k; k /= 2; }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: no whole warps
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 100>>>(out, x, seen, N, C); }
// --- along refuses: not written at the launch
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) {
    dim3 grid = dim3((N + 127) / 128);
    along<<<grid, 128>>>(out, x, seen, N, C);
}
// --- along refuses: not written at the launch
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C, dim3 grid) {
    along<<<grid, 128>>>(out, x, seen, N, C);
}
// --- along refuses: work together
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    out[row] = sum;
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- segment_rows applies
__global__ void segment_rows(float* out, const float* x, const int* starts, const int* column, int segments) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (!(s < segments)) return;
    float sum = 0.0f;
    for (int at = starts[s]; at < starts[s + 1]; at++) { sum += x[column[at]]; }
    out[s] = sum;
}
void run(float* out, const float* x, const int* starts, const int* column, int segments) {
    segment_rows<<<(segments + 127) / 128, 128>>>(out, x, starts, column, segments);
}
// --- segment_rows becomes
__global__ void segment_rows(float* out, const float* x, const int* starts, const int* column, int segments) {
    int s = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (!(s < segments)) return;
    float sum = 0.0f;
    for (int at = starts[s] + lane; at < starts[s + 1]; at += 32) { sum += x[column[at]]; }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    __syncwarp();
    if (lane == 0) { out[s] = sum; }
}
void run(float* out, const float* x, const int* starts, const int* column, int segments) {
    segment_rows<<<((segments + 127) / 128) * 32, 128>>>(out, x, starts, column, segments);
}
// --- narrowed refuses: may change on the way
__global__ void narrowed(float* out, int* ends, const int* starts, int segments) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < segments) {
        float sum = 0.0f;
        for (int at = starts[s]; at < ends[s]; at++) { out[at] = 0.0f; sum += at; }
    }
}
void run(float* out, int* ends, const int* starts, int segments) {
    narrowed<<<(segments + 127) / 128, 128>>>(out, ends, starts, segments);
}
// --- suffix_sums applies
__global__ void suffix_sums(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float sum = 0.0f;
        for (int i = C - 1; i >= 0; --i) {
            sum += x[row * C + i];
            out[row * C + i] = sum;
        }
    }
}
void run(float* out, const float* x, int N, int C) { suffix_sums<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- suffix_sums becomes
__global__ void suffix_sums(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < N) {
        float sum = 0.0f;
        for (int first = C - 1; first >= 0; first -= 4 * 32) {
            float sum_parts[4] = {};
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                const int i = first - step * 32 - lane;
                if (i >= 0) { sum_parts[step] = x[row * C + i]; }
            }
            #pragma unroll
            for (int step = 0; step < 4; step++) {
                if (!(first - step * 32 >= 0)) { break; }
                const int i = first - step * 32 - lane;
                float sum_part = sum_parts[step];
                for (int offset = 1; offset < 32; offset *= 2) {
                    const float other = __shfl_up_sync(0xffffffffu, sum_part, offset);
                    if (lane >= offset) { sum_part += other; }
                }
                float sum_before = sum, sum_whole = sum;
                sum_whole += __shfl_sync(0xffffffffu, sum_part, 31);
                sum_part = __shfl_up_sync(0xffffffffu, sum_part, 1);
                if (lane > 0) { sum_before += sum_part; }
                if (i >= 0) {
                    float sum = sum_before;
                    sum += x[row * C + i];
                    out[row * C + i] = sum;
                }
                sum = sum_whole;
            }
        }
    }
}
void run(float* out, const float* x, int N, int C) { suffix_sums<<<((N + 127) / 128) * 32, 128>>>(out, x, N, C); }
// --- sums_before applies
__global__ void sums_before(float* __restrict__ out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        out[row * C + i] = sum;
        sum += x[row * C + i];
    }
}
void run(float* out, const float* x, int N, int C) { sums_before<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- sums_before becomes
__global__ void sums_before(float* __restrict__ out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int first = 0; first < C; first += 4 * 32) {
        float sum_parts[4] = {};
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            const int i = first + step * 32 + lane;
            if (i < C) { sum_parts[step] = x[row * C + i]; }
        }
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            if (!(first + step * 32 < C)) { break; }
            const int i = first + step * 32 + lane;
            float sum_part = sum_parts[step];
            for (int offset = 1; offset < 32; offset *= 2) {
                const float other = __shfl_up_sync(0xffffffffu, sum_part, offset);
                if (lane >= offset) { sum_part += other; }
            }
            float sum_before = sum, sum_whole = sum;
            sum_whole += __shfl_sync(0xffffffffu, sum_part, 31);
            sum_part = __shfl_up_sync(0xffffffffu, sum_part, 1);
            if (lane > 0) { sum_before += sum_part; }
            if (i < C) {
                float sum = sum_before;
                out[row * C + i] = sum;
                sum += x[row * C + i];
            }
            sum = sum_whole;
        }
    }
}
void run(float* out, const float* x, int N, int C) { sums_before<<<((N + 127) / 128) * 32, 128>>>(out, x, N, C); }
// --- backwards applies
__global__ void backwards(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f, most = -1.0f;
    for (int i = C - 1; i > 0; i--) {
        sum += x[row * C + i];
        most = fmaxf(most, x[row * C + i]);
    }
    out[row] = sum + most;
}
void run(float* out, const float* x, int N, int C) { backwards<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- backwards becomes
__global__ void backwards(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= N) { return; }
    float sum = 0.0f, most = -1.0f;
    for (int i = C - 1 - lane; i > 0; i -= 32) {
        sum += x[row * C + i];
        most = fmaxf(most, x[row * C + i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    __syncwarp();
    if (lane == 0) { out[row] = sum + most; }
}
void run(float* out, const float* x, int N, int C) { backwards<<<((N + 127) / 128) * 32, 128>>>(out, x, N, C); }
// --- along refuses: carried from round to round
// The same buffer: each round adds what it has just written.
__global__ void along(float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 1.0f;
    for (int i = 0; i < C; i++) { x[row * C + i] = sum; sum += x[row * C + i]; }
}
void run(float* x, int N, int C) { along<<<(N + 127) / 128, 128>>>(x, N, C); }
// --- along refuses: carried from round to round
// Of equal values the last one is found.
__global__ void along(int* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float best = -1.0f;
    int where = 0;
    for (int i = C - 1; i >= 0; i--) { if (x[row * C + i] > best) { best = x[row * C + i]; where = i; } }
    out[row] = where;
}
void run(int* out, const float* x, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- along refuses: does not count by one
// A lane beyond the row's end would count to a large number, not below zero.
__global__ void along(float* out, const float* x, unsigned N, unsigned C) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (unsigned i = C; i > 0; i--) { sum += x[row * C + i - 1]; }
    out[row] = sum;
}
void run(float* out, const float* x, unsigned N, unsigned C) { along<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- norms_of_grid applies
__global__ void norms_of_grid(float* out, const float* x, int N, int C) {
    int stride = gridDim.x * blockDim.x;
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < N; row += stride) {
        float sum = 0.0f;
        for (int i = 0; i < C; i++) { sum += x[row * C + i] * x[row * C + i]; }
        for (int i = 0; i < C; i++) { out[row * C + i] = x[row * C + i] * rsqrtf(sum / C + 1e-5f); }
    }
}
void run(float* out, const float* x, int N, int C) {
    int blocks = min((N + 127) / 128, 132);
    norms_of_grid<<<blocks, 128>>>(out, x, N, C);
}
// --- norms_of_grid becomes
__global__ void norms_of_grid(float* out, const float* x, int N, int C) {
    const int lane = threadIdx.x % 32;
    for (int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < N; row += gridDim.x * (blockDim.x / 32)) {
        float sum = 0.0f;
        for (int i = lane; i < C; i += 32) { sum += x[row * C + i] * x[row * C + i]; }
        for (int offset = 16; offset > 0; offset /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        __syncwarp();
        for (int i = lane; i < C; i += 32) { out[row * C + i] = x[row * C + i] * rsqrtf(sum / C + 1e-5f); }
        __syncwarp();
    }
}
void run(float* out, const float* x, int N, int C) {
    int blocks = min((N + 127) / 128, 132);
    norms_of_grid<<<blocks * 32, 128>>>(out, x, N, C);
}
// --- along refuses: `threadIdx` tells a thread or the grid beside `row`
__global__ void along(float* out, const float* x, int N, int C) {
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < N; row += gridDim.x * blockDim.x) {
        float sum = 0.0f;
        for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
        out[row] = sum + threadIdx.x;
    }
}
void run(float* out, const float* x, int N, int C) { along<<<132, 128>>>(out, x, N, C); }
// --- along refuses: `stride` tells a thread or the grid beside `row`
__global__ void along(float* out, const float* x, int N, int C) {
    int stride = gridDim.x * blockDim.x;
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < N; row += stride) {
        float sum = 0.0f;
        for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
        out[row] = sum + stride;
    }
}
void run(float* out, const float* x, int N, int C) { along<<<132, 128>>>(out, x, N, C); }
// --- norms_along_y applies
__global__ void norms_along_y(float *y, const float *x, const float *gain, int rows, int width, float eps) {
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows) {
        float squares = 0.0f;
        for (int k = 0; k < width; ++k) squares += x[r * width + k] * x[r * width + k];
        const float scale = rsqrtf(squares / width + eps);
        for (int k = 0; k < width; ++k) y[r * width + k] = x[r * width + k] * scale * gain[k];
    }
}
void run(float *y, const float *x, const float *gain, int rows, int width, float eps) {
    dim3 block(1, 64);
    dim3 grid(1, (rows + 63) / 64);
    norms_along_y<<<grid, block>>>(y, x, gain, rows, width, eps);
}
// --- norms_along_y becomes
__global__ void norms_along_y(float *y, const float *x, const float *gain, int rows, int width, float eps) {
    const int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (r < rows) {
        float squares = 0.0f;
        for (int k = lane; k < width; k += 32) squares += x[r * width + k] * x[r * width + k];
        for (int offset = 16; offset > 0; offset /= 2) {
            squares += __shfl_xor_sync(0xffffffffu, squares, offset);
        }
        const float scale = rsqrtf(squares / width + eps);
        __syncwarp();
        for (int k = lane; k < width; k += 32) y[r * width + k] = x[r * width + k] * scale * gain[k];
    }
}
void run(float *y, const float *x, const float *gain, int rows, int width, float eps) {
    dim3 block(64, 1);
    dim3 grid(((rows + 63) / 64) * 32, 1);
    norms_along_y<<<grid, block>>>(y, x, gain, rows, width, eps);
}
// --- norms_by_auto applies
__global__ void norms_by_auto(float *y, const float *x, int rows, int width) {
    const auto r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float *own = x + (size_t)r * width;
    float squares = 0.0f;
    for (int k = 0; k < width; ++k) { const auto v = own[k]; squares += v * v; }
    y[r] = sqrtf(squares);
}
void run(float *y, const float *x, int rows, int width) {
    norms_by_auto<<<(rows + 63) / 64, 64>>>(y, x, rows, width);
}
// --- norms_by_auto becomes
__global__ void norms_by_auto(float *y, const float *x, int rows, int width) {
    const auto r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (r >= rows) return;
    const float *own = x + (size_t)r * width;
    float squares = 0.0f;
    for (int k = lane; k < width; k += 32) { const auto v = own[k]; squares += v * v; }
    for (int offset = 16; offset > 0; offset /= 2) {
        squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    }
    __syncwarp();
    if (lane == 0) { y[r] = sqrtf(squares); }
}
void run(float *y, const float *x, int rows, int width) {
    norms_by_auto<<<((rows + 63) / 64) * 32, 64>>>(y, x, rows, width);
}
// --- along refuses: is declared as `const`
// Rows would be counted in 32 bits where another place stands in this one's place.
__global__ void along(float *y, const float *x, size_t rows, int width) {
    const auto r = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (r < rows) {
        float most = 0.0f;
        for (int k = 0; k < width; ++k) most = fmaxf(most, x[r * width + k]);
        y[r] = most;
    }
}
void run(float *y, const float *x, size_t rows, int width) { along<<<(rows + 63) / 64, 64>>>(y, x, rows, width); }
// --- running_total applies
template <typename scalar_t>
__global__ void running_total(const scalar_t *__restrict__ x, scalar_t *__restrict__ y, int64_t rows, int64_t length) {
    int64_t row = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    scalar_t sum = 0;
    for (int64_t j = 0; j < length; ++j) {
        sum += x[row * length + j];
        y[row * length + j] = sum;
    }
}

void run(const float *x, float *y, int64_t rows, int64_t length) {
    running_total<float><<<(rows + 63) / 64, 64>>>(x, y, rows, length);
}
// --- running_total becomes
template <typename scalar_t>
__global__ void running_total(const scalar_t *__restrict__ x, scalar_t *__restrict__ y, int64_t rows, int64_t length) {
    int64_t row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    scalar_t sum = 0;
    for (int64_t first = 0; first < length; first += 4 * 32) {
        scalar_t sum_parts[4] = {};
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            const int64_t j = first + step * 32 + lane;
            if (j < length) { sum_parts[step] = x[row * length + j]; }
        }
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            if (!(first + step * 32 < length)) { break; }
            const int64_t j = first + step * 32 + lane;
            scalar_t sum_part = sum_parts[step];
            for (int offset = 1; offset < 32; offset *= 2) {
                const scalar_t other = __shfl_up_sync(0xffffffffu, sum_part, offset);
                if (lane >= offset) { sum_part += other; }
            }
            scalar_t sum_before = sum, sum_whole = sum;
            sum_whole += __shfl_sync(0xffffffffu, sum_part, 31);
            sum_part = __shfl_up_sync(0xffffffffu, sum_part, 1);
            if (lane > 0) { sum_before += sum_part; }
            if (j < length) {
                scalar_t sum = sum_before;
                sum += x[row * length + j];
                y[row * length + j] = sum;
            }
            sum = sum_whole;
        }
    }
}

void run(const float *x, float *y, int64_t rows, int64_t length) {
    running_total<float><<<((rows + 63) / 64) * 32, 64>>>(x, y, rows, length);
}
// --- running_total refuses: carried from round to round
// The warp shuffles hand over no half of cuda_fp16.h by this name.
template <typename scalar_t>
__global__ void running_total(const scalar_t *__restrict__ x, scalar_t *__restrict__ y, int64_t rows, int64_t length) {
    int64_t row = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    scalar_t sum = 0;
    for (int64_t j = 0; j < length; ++j) {
        sum += x[row * length + j];
        y[row * length + j] = sum;
    }
}

void run(const __half *x, __half *y, int64_t rows, int64_t length) {
    running_total<__half><<<(rows + 63) / 64, 64>>>(x, y, rows, length);
}
// --- along refuses: carried from round to round
// A running product of floats may pass through an infinity and a zero in another order.
__global__ void along(float* __restrict__ out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float product = 1.0f;
    for (int i = 0; i < C; i++) { out[row * C + i] = product; product *= x[row * C + i]; }
}
void run(float* out, const float* x, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- along refuses: may be rounded in each round
__global__ void along(int* __restrict__ out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    int sum = 0;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; out[row * C + i] = sum; }
}
void run(int* out, const float* x, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- along refuses: carried from round to round
// Where the sum itself says whether it grows, no lane knows what its round adds.
__global__ void along(int* __restrict__ out, const int* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    int sum = 0;
    for (int i = 0; i < C; i++) { if (sum < 100) { sum += x[row * C + i]; } out[row * C + i] = sum; }
}
void run(int* out, const int* x, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- along refuses: carried from round to round
__global__ void along(int* __restrict__ out, const int* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    int count = 0;
    for (int i = 0; i < C; i++) { out[row * C + i] = x[row * C + i] ? count++ : 0; }
}
void run(int* out, const int* x, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- along refuses: carried from round to round
// What the sum becomes is doubled on the way.
__global__ void along(int* __restrict__ out, const int* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    int sum = 0;
    for (int i = 0; i < C; i++) { int next = sum + x[row * C + i]; next *= 2; out[row * C + i] = sum; sum = next; }
}
void run(int* out, const int* x, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- shares_of_heads applies
#define WIDTH 40
__global__ void shares_of_heads(float* __restrict__ share, const float* score, const float* bias, int batch,
                                int heads) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < (long long)batch * heads * WIDTH) {
        const long long place = at % WIDTH;
        const int head = at / WIDTH % heads;
        const float* mine = score + (at - place);
        float most = mine[0] + bias[head], total = 0.0f;
        for (int k = 1; k < WIDTH; k++) { most = fmaxf(most, mine[k] + bias[head]); }
        for (int k = 0; k < WIDTH; k++) { total += expf(mine[k] + bias[head] - most); }
        share[at] = expf(mine[place] + bias[head] - most) / total;
    }
}
void run(float* share, const float* score, const float* bias, int batch, int heads) {
    long long n = (long long)batch * heads * WIDTH;
    shares_of_heads<<<(n + 95) / 96, 96>>>(share, score, bias, batch, heads);
}
// --- shares_of_heads becomes
#define WIDTH 40
__global__ void shares_of_heads(float* __restrict__ share, const float* score, const float* bias, int batch,
                                int heads) {
    long long row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= (long long)batch * heads) { return; }
    const int head = row % heads;
    const float* mine = score + (WIDTH * row);
    float most = mine[0] + bias[head], total = 0.0f;
    for (int k = 1 + lane; k < WIDTH; k += 32) { most = fmaxf(most, mine[k] + bias[head]); }
    for (int offset = 16; offset > 0; offset /= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
    }
    for (int k = lane; k < WIDTH; k += 32) { total += expf(mine[k] + bias[head] - most); }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, offset);
    }
    __syncwarp();
    for (long long place = lane; place < WIDTH; place += 32) {
        const long long at = row * WIDTH + place;
        share[at] = expf(mine[place] + bias[head] - most) / total;
    }
}
void run(float* share, const float* score, const float* bias, int batch, int heads) {
    long long n = (long long)batch * heads * WIDTH;
    shares_of_heads<<<(((batch * heads) + 95) / 96) * 32, 96>>>(share, score, bias, batch, heads);
}
// --- moved_rows applies
__device__ float between(const float* x, float at, int n) {
    int i = (int)at;
    return i >= 0 && i + 1 < n ? x[i] + (at - i) * (x[i + 1] - x[i]) : 0.0f;
}
__global__ void moved_rows(float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ by, int N,
                           int C, int K) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    for (int i = 0; i < C; i++) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) {
            if (by[k] < 0.0f) break;
            sum += between(x + row * C, i + by[k], C);
        }
        out[row * C + i] = sum;
    }
}
void run(float* out, const float* x, const float* by, int N, int C, int K) {
    moved_rows<<<(N + 127) / 128, 128>>>(out, x, by, N, C, K);
}
// --- moved_rows becomes
__device__ float between(const float* x, float at, int n) {
    int i = (int)at;
    return i >= 0 && i + 1 < n ? x[i] + (at - i) * (x[i + 1] - x[i]) : 0.0f;
}
__global__ void moved_rows(float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ by, int N,
                           int C, int K) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= N) return;
    for (int i = lane; i < C; i += 32) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) {
            if (by[k] < 0.0f) break;
            sum += between(x + row * C, i + by[k], C);
        }
        out[row * C + i] = sum;
    }
}
void run(float* out, const float* x, const float* by, int N, int C, int K) {
    moved_rows<<<((N + 127) / 128) * 32, 128>>>(out, x, by, N, C, K);
}
// --- nearest_of_rows applies
__global__ void nearest_of_rows(int* at, float* distance, const float* x, const float* y, int N, int M, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float best = 3e38f;
    int chosen = -1;
    for (int m = 0; m < M; m++) {
        float d = 0.0f;
        for (int c = 0; c < C; c++) {
            float apart = x[row * C + c] - y[m * C + c];
            if (apart > 1e6f) break;
            d += apart * apart;
        }
        if (d < best) {
            best = d;
            chosen = m;
        }
    }
    at[row] = chosen;
    distance[row] = best;
}
void run(int* at, float* distance, const float* x, const float* y, int N, int M, int C) {
    nearest_of_rows<<<(N + 63) / 64, 64>>>(at, distance, x, y, N, M, C);
}
// --- nearest_of_rows becomes
__global__ void nearest_of_rows(int* at, float* distance, const float* x, const float* y, int N, int M, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= N) return;
    float best = 3e38f;
    int chosen = -1;
    for (int m = lane; m < M; m += 32) {
        float d = 0.0f;
        for (int c = 0; c < C; c++) {
            float apart = x[row * C + c] - y[m * C + c];
            if (apart > 1e6f) break;
            d += apart * apart;
        }
        if (d < best) {
            best = d;
            chosen = m;
        }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other_best = __shfl_xor_sync(0xffffffffu, best, offset);
        const int other_chosen = __shfl_xor_sync(0xffffffffu, chosen, offset);
        if (other_best < best || (other_best == best && other_chosen < chosen)) { best = other_best; chosen = other_chosen; }
    }
    __syncwarp();
    if (lane == 0) {
        at[row] = chosen;
        distance[row] = best;
    }
}
void run(int* at, float* distance, const float* x, const float* y, int N, int M, int C) {
    nearest_of_rows<<<((N + 63) / 64) * 32, 64>>>(at, distance, x, y, N, M, C);
}
// --- along refuses: between may read of `x`
__device__ float between(const float* x, int i) { return x[i] + x[i + 1]; }
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) {
        float sum = 0.0f;
        for (int k = 0; k < i; k++) {
            if (sum > 9.0f) break;
            sum += between(x, k);
        }
        out[row * C + i] = sum;
    }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: one round may write what another one does
__global__ void along(float* __restrict__ out, const float* __restrict__ x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) {
        out[row * C + i] = x[row * C + i];
        out[row * C + i + 1] = 2.0f * x[row * C + i];
    }
}
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- along refuses: one round may write what another one does
__global__ void along(float* out, const float* x, float* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    for (int i = 0; i < C; i++) {
        out[row * C + i] = i;
        seen[row * C + i] = i + 1;
    }
}
void run(float* out, const float* x, float* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
// --- halves applies
__global__ void halves(float* __restrict__ out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    for (int i = 0; i < C; i++) {
        out[row * 2 * C + i] = x[row * C + i];
        out[row * 2 * C + C + i] = -x[row * C + i];
    }
}
void run(float* out, const float* x, int N, int C) { halves<<<(N + 127) / 128, 128>>>(out, x, N, C); }
// --- halves becomes
__global__ void halves(float* __restrict__ out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= N) return;
    for (int i = lane; i < C; i += 32) {
        out[row * 2 * C + i] = x[row * C + i];
        out[row * 2 * C + C + i] = -x[row * C + i];
    }
}
void run(float* out, const float* x, int N, int C) { halves<<<((N + 127) / 128) * 32, 128>>>(out, x, N, C); }
// --- norms_launched_elsewhere applies
__global__ void norms_launched_elsewhere(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float sum = 0.0f;
        for (int i = 0; i < C; i++) { sum += x[row * C + i] * x[row * C + i]; }
        out[row] = sqrtf(sum);
    }
}
// --- norms_launched_elsewhere becomes
__global__ void norms_launched_elsewhere(float* out, const float* x, int N, int C) {
    const int lane = threadIdx.x % 32;
    for (long long element = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; element < N; element += gridDim.x * (blockDim.x / 32)) {
        int row = (int)element;
        float sum = 0.0f;
        for (int i = lane; i < C; i += 32) { sum += x[row * C + i] * x[row * C + i]; }
        for (int offset = 16; offset > 0; offset /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        __syncwarp();
        if (lane == 0) { out[row] = sqrtf(sum); }
        __syncwarp();
    }
}
