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
// --- column_means refuses: does more than declare
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
// --- column_means refuses: begins outside of the head
__global__ void column_means(float* means, const float* x, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        float sum = 0.0f;
        int r = 0;
        while (r < rows) { sum += x[r * columns + c]; r++; }
        means[c] = sum / rows;
    }
}

void run(float* means, const float* x, int rows, int columns) {
    column_means<<<(columns + 127) / 128, 128>>>(means, x, rows, columns);
}
