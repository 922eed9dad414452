// --- scale_matrix applies
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix becomes
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.y;
    int column = blockIdx.y * blockDim.y + threadIdx.x;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix applies
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(32, 8);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix becomes
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    // Neighbouring threads take neighbours along y; each place of the block is taken once, as before.
    const unsigned int thread_rank = threadIdx.y * blockDim.x + threadIdx.x;
    const unsigned int thread_x = thread_rank / blockDim.y;
    const unsigned int thread_y = thread_rank % blockDim.y;
    int row = blockIdx.x * blockDim.x + thread_x;
    int column = blockIdx.y * blockDim.y + thread_y;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(32, 8);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- product applies
__global__ void product(const float* a, const float* b, float* out, int rows, int columns, int inner) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) {
        float sum = 0.0f;
        for (int k = 0; k < inner; ++k) {
            sum += a[r * inner + k] * b[k * columns + c];
        }
        out[r * columns + c] = sum;
    }
}
// --- product becomes
__global__ void product(const float* a, const float* b, float* out, int rows, int columns, int inner) {
    // Neighbouring threads take neighbours along y; each place of the block is taken once, as before.
    const unsigned int thread_rank = threadIdx.y * blockDim.x + threadIdx.x;
    const unsigned int thread_x = thread_rank / blockDim.y;
    const unsigned int thread_y = thread_rank % blockDim.y;
    const unsigned int r = blockIdx.x * blockDim.x + thread_x;
    const unsigned int c = blockIdx.y * blockDim.y + thread_y;
    if (r < rows && c < columns) {
        float sum = 0.0f;
        for (int k = 0; k < inner; ++k) {
            sum += a[r * inner + k] * b[k * columns + c];
        }
        out[r * columns + c] = sum;
    }
}
// --- scale_matrix refuses: a tile in shared memory serves both orders
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[column * rows + row] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix refuses: there is nothing to exchange
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(256);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix refuses: does not use both
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix refuses: lanes of a warp
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * __shfl_sync(0xffffffffu, threadIdx.x, 0) * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix refuses: transposed as well
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    __shared__ float kept[16][16];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix refuses: reads threadIdx
__device__ float weight() { return 1.0f / (1 + threadIdx.x); }

__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = weight() * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix refuses: weight_of_thread is not in this file
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = weight_of_thread() * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix refuses: the macro WEIGHT reads threadIdx
#define WEIGHT (1.0f / (1 + threadIdx.x))

__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = WEIGHT * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- scale_matrix refuses: it cannot be told which elements
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[column * rows + row] = factor * x[row / 2 + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
// --- against_before applies
__global__ void against_before(float* out, const float* x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        const int before = (column + columns - 1) % columns;
        out[row * columns + column] = x[row * columns + column] - x[row * columns + before];
    }
}

void launch(float* out, const float* x, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + 15) / 16, (columns + 15) / 16);
    against_before<<<grid, block>>>(out, x, rows, columns);
}
// --- against_before becomes
__global__ void against_before(float* out, const float* x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.y;
    int column = blockIdx.y * blockDim.y + threadIdx.x;
    if (row < rows && column < columns) {
        const int before = (column + columns - 1) % columns;
        out[row * columns + column] = x[row * columns + column] - x[row * columns + before];
    }
}

void launch(float* out, const float* x, int rows, int columns) {
    dim3 block(16, 16);
    dim3 grid((rows + 15) / 16, (columns + 15) / 16);
    against_before<<<grid, block>>>(out, x, rows, columns);
}
// --- smooth applies
__global__ void smooth(float* out, const float* in, int nx, int ny, int nz) {
    int z = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int x = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || x >= nx - 1 || y >= ny || z >= nz) return;
    long long i = ((long long)z * ny + y) * nx + x;
    out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}

void launch(float* out, const float* in, int nx, int ny, int nz) {
    dim3 block(4, 8, 4);
    dim3 grid((nz + 3) / 4, (ny + 7) / 8, (nx + 3) / 4);
    smooth<<<grid, block>>>(out, in, nx, ny, nz);
}
// --- smooth becomes
__global__ void smooth(float* out, const float* in, int nx, int ny, int nz) {
    int z = blockIdx.x * blockDim.x + threadIdx.z;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int x = blockIdx.z * blockDim.z + threadIdx.x;
    if (x < 1 || x >= nx - 1 || y >= ny || z >= nz) return;
    long long i = ((long long)z * ny + y) * nx + x;
    out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}

void launch(float* out, const float* in, int nx, int ny, int nz) {
    dim3 block(4, 8, 4);
    dim3 grid((nz + 3) / 4, (ny + 7) / 8, (nx + 3) / 4);
    smooth<<<grid, block>>>(out, in, nx, ny, nz);
}
// --- smooth applies
__global__ void smooth(float* out, const float* in, int nx, int ny, int nz) {
    int z = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int x = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) {
        out[(z * ny + y) * nx + x] = 0.5f * in[(z * ny + y) * nx + x];
    }
}

void launch(float* out, const float* in, int nx, int ny, int nz) {
    dim3 block(16, 2, 8);
    dim3 grid((nz + 15) / 16, (ny + 1) / 2, (nx + 7) / 8);
    smooth<<<grid, block>>>(out, in, nx, ny, nz);
}
// --- smooth becomes
__global__ void smooth(float* out, const float* in, int nx, int ny, int nz) {
    // Neighbouring threads take neighbours along z; each place of the block is taken once, as before.
    const unsigned int thread_rank = threadIdx.z * blockDim.x + threadIdx.x;
    const unsigned int thread_x = thread_rank / blockDim.z;
    const unsigned int thread_z = thread_rank % blockDim.z;
    int z = blockIdx.x * blockDim.x + thread_x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int x = blockIdx.z * blockDim.z + thread_z;
    if (x < nx && y < ny && z < nz) {
        out[(z * ny + y) * nx + x] = 0.5f * in[(z * ny + y) * nx + x];
    }
}

void launch(float* out, const float* in, int nx, int ny, int nz) {
    dim3 block(16, 2, 8);
    dim3 grid((nz + 15) / 16, (ny + 1) / 2, (nx + 7) / 8);
    smooth<<<grid, block>>>(out, in, nx, ny, nz);
}
// --- all_distances applies
__global__ void all_distances(const float* x, const float* y, float* out, int n, int m, int d) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)n * m) return;
    int column = i / n, row = i % n;
    float sum = 0.0f;
    for (int k = 0; k < d; k++) {
        sum += fabsf(x[(long long)row * d + k] - y[(long long)column * d + k]);
    }
    out[(long long)row * m + column] = sum;
}
// --- all_distances becomes
__global__ void all_distances(const float* x, const float* y, float* out, int n, int m, int d) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)n * m) return;
    int column = i % m, row = i / m;
    float sum = 0.0f;
    for (int k = 0; k < d; k++) {
        sum += fabsf(x[(long long)row * d + k] - y[(long long)column * d + k]);
    }
    out[(long long)row * m + column] = sum;
}
// --- centred_planes applies
__global__ void centred_planes(float* out, const float* x, const float* mean, int B, int C, int H, int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int c = i % C, w = i / C % W;
    if (i < B * C * H * W) {
        int h = (i / C) / W % H, b = i / (W * C * H);
        int at = ((b * C + c) * H + h) * W + w;
        out[at] = x[at] - mean[c];
    }
}
// --- centred_planes becomes
__global__ void centred_planes(float* out, const float* x, const float* mean, int B, int C, int H, int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int c = i / W % C, w = i % W;
    if (i < B * C * H * W) {
        int h = (i / C) / W % H, b = i / (W * C * H);
        int at = ((b * C + c) * H + h) * W + w;
        out[at] = x[at] - mean[c];
    }
}
// --- weighted_rows applies
__global__ void weighted_rows(float* out, const float* x, const float* weight, int n, int rows, int columns) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns * n) {
        const unsigned c = i / rows;
        const int at = (i % rows * columns + i / rows % columns) * n + i / (rows * columns);
        out[at] = x[at] * weight[c];
    }
}
// --- weighted_rows becomes
__global__ void weighted_rows(float* out, const float* x, const float* weight, int n, int rows, int columns) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns * n) {
        // Neighbouring threads take elements that lie columns * rows apart; each is taken once.
        const unsigned element = i % n * (columns * rows) + i / n;
        const unsigned c = element / rows;
        const int at = ((i / n % rows) * columns + (i / (n * rows))) * n + (i % n);
        out[at] = x[at] * weight[c];
    }
}
// --- numbered_columns applies
__global__ void numbered_columns(float* out, const float* x, int n, int rows) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int at = i % rows * ((n + rows - 1) / rows) + i / rows;
        out[at] = x[at] + i;
    }
}
// --- numbered_columns becomes
__global__ void numbered_columns(float* out, const float* x, int n, int rows) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        // Neighbouring threads take elements that lie rows apart; each is taken once.
        const int along = n / rows;
        const int whole = along * rows;
        const int element = i < whole ? i % along * rows + i / along : i;
        const int at = element % rows * ((n + rows - 1) / rows) + element / rows;
        out[at] = x[at] + element;
    }
}
// --- turned_pages refuses: a tile in shared memory serves both orders
__global__ void turned_pages(float* out, const float* x, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) out[i % columns * rows + i / columns] = x[i];
}
// --- every_other refuses: is not taken apart into digits
__global__ void every_other(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[2 * i] = x[2 * i];
}
// --- colours refuses: is not taken apart into digits
__global__ void colours(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 * n) out[i % n * 3 + i / n] = x[i % n * 3 + i / n];
}
// --- numbered_later refuses: is changed by the work itself
__global__ void numbered_later(float* out, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) {
        out[i % rows * columns + i / rows] = i;
        i += 1;
    }
}
