// One thread normalises one plane of one image.
__global__ void instanceNormKernel(float* output, const float* input, const float* scale, const float* shift,
                                   int batch, int channels, int height, int width, float epsilon)
{
    int plane = blockIdx.x * blockDim.x + threadIdx.x;
    if (plane < batch * channels)
    {
        int channel = plane % channels;
        int size = height * width;
        int offset = plane * size;

        float sum = 0.0f;
        for (int p = 0; p < size; p++)
        {
            sum += input[offset + p];
        }
        float mean = sum / size;

        float sumSquares = 0.0f;
        for (int p = 0; p < size; p++)
        {
            float diff = input[offset + p] - mean;
            sumSquares += diff * diff;
        }
        float invStd = 1.0f / sqrtf(sumSquares / size + epsilon);

        for (int p = 0; p < size; p++)
        {
            output[offset + p] = (input[offset + p] - mean) * invStd * scale[channel] + shift[channel];
        }
    }
}

void instanceNorm(float* output, const float* input, const float* scale, const float* shift,
                  int batch, int channels, int height, int width, float epsilon)
{
    int planes = batch * channels;
    instanceNormKernel<<<(planes + 127) / 128, 128>>>(output, input, scale, shift, batch, channels, height, width, epsilon);
}
