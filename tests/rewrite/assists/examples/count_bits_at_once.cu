// --- tanimoto applies
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
// --- tanimoto becomes
#include <cstdint>
__global__ void tanimoto(const uint32_t* queries, const uint32_t* db, float* out, int n, int words) {
  int q = blockIdx.y, d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d < n) {
    int both = 0;
    int any = 0;
    for (int w = 0; w < words; w++) {
      const auto x_bits = queries[q * words + w];
      const auto y_bits = db[d * words + w];
      both += __popc(x_bits & y_bits);
      any += __popc(x_bits | y_bits);
    }
    out[q * n + d] = any == 0 ? 0.0f : (float)both / any;
  }
}
// --- hamming applies
__global__ void hamming(int* out, const unsigned long long* a, const unsigned long long* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int d = 0, unset = 0;
    unsigned long long one = a[i], other = b[i];
    #pragma unroll
    for (int k = 63; k >= 0; --k) {
        d += ((one >> k) & 1) != ((other >> k) & 1);
        if (!((one ^ other) >> k & 1)) {
            unset += 1;
        }
    }
    out[i] = d - unset;
}
// --- hamming becomes
__global__ void hamming(int* out, const unsigned long long* a, const unsigned long long* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int d = 0, unset = 0;
    unsigned long long one = a[i], other = b[i];
    const auto word = one ^ other;
    d += __popcll(one ^ other);
    unset += __popcll(~word);
    out[i] = d - unset;
}
// --- clear_bits applies
__global__ void clear_bits(int* out, const signed char* flags, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned clear = 0;
        for (int bit = 0; bit <= 6; ++bit)
            if (((flags[i] >> bit) & 1) == 0) clear++;
        out[i] = clear;
    }
}
// --- clear_bits becomes
__global__ void clear_bits(int* out, const signed char* flags, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned clear = 0;
        const auto word = flags[i];
        clear += __popc(~word & 0x7fu);
        out[i] = clear;
    }
}
// --- emptied applies
__global__ void emptied(int* out, const unsigned* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int low = 0;
    unsigned word = a[i];
    while (word) {
        low += word & 1;
        word >>= 1;
    }
    out[i] = low + (int)word;
}
// --- emptied becomes
__global__ void emptied(int* out, const unsigned* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int low = 0;
    unsigned word = a[i];
    low += __popc(word);
    word = 0;
    out[i] = low + (int)word;
}
// --- last_first applies
__global__ void last_first(int* out, const int* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int count = 0;
        for (int left = a[i]; left; left &= (left - 1)) { ++count; }
        out[i] = count;
    }
}
// --- last_first becomes
__global__ void last_first(int* out, const int* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int count = 0;
        {
            int left = a[i];
            count += __popc(left);
        }
        out[i] = count;
    }
}
// --- weighed refuses: `weights[k]` is not understood as a bit
__global__ void weighed(int* out, const unsigned* a, const int* weights) {
    int sum = 0;
    for (int k = 0; k < 32; k++) {
        if ((a[threadIdx.x] >> k) & 1) sum += weights[k];
    }
    out[threadIdx.x] = sum;
}
// --- in_floats refuses: n is not known to count in whole numbers
__global__ void in_floats(float* out, const unsigned* a) {
    float n = 0.0f;
    for (int k = 0; k < 32; k++) n += (a[threadIdx.x] >> k) & 1;
    out[threadIdx.x] = n;
}
// --- beyond refuses: is not read in all rounds
__global__ void beyond(int* out, const unsigned* a, const unsigned* b, int n) {
    int count = 0;
    for (int k = 0; k < 32; k++) {
        if ((a[threadIdx.x] >> k) & 1 && (b[threadIdx.x] >> k) & 1) count++;
    }
    out[threadIdx.x] = count;
}
// --- moves_on refuses: is another word in each round
__global__ void moves_on(int* out, const unsigned* a) {
    int n = 0;
    for (int k = 0; k < 32; k++) n += (a[threadIdx.x + k] >> k) & 1;
    out[threadIdx.x] = n;
}
// --- too_many refuses: 40 bits of a word that has 32
__global__ void too_many(int* out, const unsigned* a) {
    int n = 0;
    for (int k = 0; k < 40; k++) n += (a[threadIdx.x] >> k) & 1;
    out[threadIdx.x] = n;
}
// --- of_any_type refuses: is not known to be a whole number
template <typename T>
__global__ void of_any_type(int* out, const T* a) {
    int n = 0;
    for (int k = 0; k < 16; k++) n += (a[threadIdx.x] >> k) & 1;
    out[threadIdx.x] = n;
}
// --- until_found refuses: does more than to count bits
__global__ void until_found(int* out, const unsigned* a) {
    int n = 0;
    for (int k = 0; k < 32; k++) {
        if ((a[threadIdx.x] >> k) & 1) break;
        n++;
    }
    out[threadIdx.x] = n;
}
// --- rounds refuses: counts rounds, not bits
__global__ void rounds(int* out, const unsigned* a) {
    int n = 0, all = 0;
    for (int k = 0; k < 32; k++) {
        n += (a[threadIdx.x] >> k) & 1;
        all++;
    }
    out[threadIdx.x] = n + all;
}
// --- signed_shift refuses: is not known to be a number that the loop empties
__global__ void signed_shift(int* out, const int* a) {
    int n = 0, word = a[threadIdx.x];
    while (word > 0) {
        n += word & 1;
        word >>= 1;
    }
    out[threadIdx.x] = n;
}
// --- short_word refuses: is not known to be a number that the loop empties
__global__ void short_word(int* out, const signed char* a) {
    int n = 0;
    signed char word = a[threadIdx.x];
    while (word) { word &= word - 1; n++; }
    out[threadIdx.x] = n;
}
