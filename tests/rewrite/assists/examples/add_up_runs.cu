// --- sum_segments applies
__global__ void sum_segments(float* out, const int* segment, const float* x, int rows, int C) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    int c = threadIdx.x;
    if (row < rows) {
        atomicAdd(&out[segment[row] * C + c], x[row * C + c]);
    }
}

void launch(float* out, const int* segment, const float* x, int rows, int C) {
    dim3 block(C, 4);
    sum_segments<<<dim3((rows + 3) / 4), block>>>(out, segment, x, rows, C);
}
// --- sum_segments becomes
__global__ void sum_segments(float* out, const int* segment, const float* x, int rows, int C) {
    const long long first_row = (long long)(blockIdx.x * blockDim.y + threadIdx.y) * 16;
    int c = threadIdx.x;
    // Of 16 rows, one atomic addition for each run of those that go to one element.
    float total = 0;
    long long place = 0;
    for (long long row_0 = first_row; row_0 < rows && row_0 - first_row < 16; row_0 += 4) {
        long long at[4];
        float value[4];
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            const long long row = row_0 + j;
            if (row >= rows) continue;
            at[j] = segment[row] * C + c;
            value[j] = x[row * C + c];
        }
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            if (row_0 + j >= rows) continue;
            if (row_0 + j != first_row && at[j] == place) {
                total += value[j];
                continue;
            }
            if (row_0 + j != first_row) atomicAdd(&out[place], total);
            place = at[j];
            total = value[j];
        }
    }
    if (first_row < rows) atomicAdd(&out[place], total);
}

void launch(float* out, const int* segment, const float* x, int rows, int C) {
    dim3 block(C, 4);
    sum_segments<<<dim3((((rows + 3) / 4) + 15) / 16), block>>>(out, segment, x, rows, C);
}
// --- scatter_rows applies
__global__ void scatter_rows(float* out, const long long* index, const float* x, const float* weight, size_t rows,
                             int width) {
    const size_t r = blockIdx.y;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows || c >= width) return;
    const long long to = index[r];
    const float w = weight[r];
    atomicAdd(&out[to * width + c], w * x[r * width + c]);
}

void launch(float* out, const long long* index, const float* x, const float* weight, size_t rows, int width) {
    scatter_rows<<<dim3((width + 63) / 64, rows), 64>>>(out, index, x, weight, rows, width);
}
// --- scatter_rows becomes
__global__ void scatter_rows(float* out, const long long* index, const float* x, const float* weight, size_t rows,
                             int width) {
    const size_t first_r = (size_t)(blockIdx.y) * 16;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    // Of 16 rows, one atomic addition for each run of those that go to one element.
    float total = 0;
    long long place = 0;
    for (size_t r_0 = first_r; !(c >= width) && r_0 < rows && r_0 - first_r < 16; r_0 += 4) {
        long long at[4];
        float value[4];
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            const size_t r = r_0 + j;
            if (r >= rows) continue;
            const long long to = index[r];
            const float w = weight[r];
            at[j] = to * width + c;
            value[j] = w * x[r * width + c];
        }
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            if (r_0 + j >= rows) continue;
            if (r_0 + j != first_r && at[j] == place) {
                total += value[j];
                continue;
            }
            if (r_0 + j != first_r) atomicAdd(&out[place], total);
            place = at[j];
            total = value[j];
        }
    }
    if (!(c >= width) && first_r < rows) atomicAdd(&out[place], total);
}

void launch(float* out, const long long* index, const float* x, const float* weight, size_t rows, int width) {
    scatter_rows<<<dim3((width + 63) / 64, (rows + 15) / 16), 64>>>(out, index, x, weight, rows, width);
}
// --- own_elements refuses: goes to an element of its own
__global__ void own_elements(float* out, const float* x, int rows, int C) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    int c = threadIdx.x;
    if (row < rows) atomicAdd(&out[row * C + c], x[row * C + c]);
}

void launch(float* out, const float* x, int rows, int C) {
    own_elements<<<(rows + 3) / 4, dim3(C, 4)>>>(out, x, rows, C);
}
// --- neighbours refuses: no row that blocks, or threads along y or z, count
__global__ void neighbours(float* out, const int* segment, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[segment[i]], x[i]);
}

void launch(float* out, const int* segment, const float* x, int n) {
    neighbours<<<(n + 255) / 256, 256>>>(out, segment, x, n);
}
// --- read_too refuses: used at another place
__global__ void read_too(float* out, const int* segment, const float* x, int rows, int C) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    int c = threadIdx.x;
    if (row < rows) {
        float scale = 1.0f + out[c] * out[c];
        atomicAdd(&out[segment[row] * C + c], x[row * C + c] * scale);
    }
}

void launch(float* out, const int* segment, const float* x, int rows, int C) {
    read_too<<<(rows + 3) / 4, dim3(C, 4)>>>(out, segment, x, rows, C);
}
// --- tells_row refuses: uses its block or its thread beside `row`
__global__ void tells_row(float* out, const int* segment, const float* x, int rows, int C) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row < rows) atomicAdd(&out[segment[row] * C + threadIdx.x], x[row * C + threadIdx.x] * threadIdx.y);
}

void launch(float* out, const int* segment, const float* x, int rows, int C) {
    tells_row<<<(rows + 3) / 4, dim3(C, 4)>>>(out, segment, x, rows, C);
}
// --- only_some refuses: is not to add a value to an element atomically
__global__ void only_some(float* out, const int* segment, const float* x, int rows, int C) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row < rows) {
        if (x[row] > 0.0f) atomicAdd(&out[segment[row] * C + threadIdx.x], x[row * C + threadIdx.x]);
    }
}

void launch(float* out, const int* segment, const float* x, int rows, int C) {
    only_some<<<(rows + 3) / 4, dim3(C, 4)>>>(out, segment, x, rows, C);
}
