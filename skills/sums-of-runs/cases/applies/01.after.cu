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
