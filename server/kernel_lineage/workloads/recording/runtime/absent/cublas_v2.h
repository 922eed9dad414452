// For toolkits that come without cuBLAS: host code that calls it compiles, and its calls do nothing. What matters is the
// launches beside them.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
typedef struct cublasContext *cublasHandle_t;
typedef struct cublasLtContext *cublasLtHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP = 100 };
enum cublasComputeType_t { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77, CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32I = 72 };
#define KLINEAGE_DOES_NOTHING(name)                                                                                    \
  template <class... A> inline cublasStatus_t name(A &&...) { return CUBLAS_STATUS_SUCCESS; }
#define KLINEAGE_OF_TYPES(name)                                                                                        \
  KLINEAGE_DOES_NOTHING(cublasS##name) KLINEAGE_DOES_NOTHING(cublasD##name) KLINEAGE_DOES_NOTHING(cublasC##name)       \
  KLINEAGE_DOES_NOTHING(cublasZ##name)
KLINEAGE_DOES_NOTHING(cublasCreate) KLINEAGE_DOES_NOTHING(cublasDestroy) KLINEAGE_DOES_NOTHING(cublasSetStream)
KLINEAGE_DOES_NOTHING(cublasGetStream) KLINEAGE_DOES_NOTHING(cublasSetMathMode) KLINEAGE_DOES_NOTHING(cublasGetMathMode)
KLINEAGE_DOES_NOTHING(cublasSetPointerMode) KLINEAGE_DOES_NOTHING(cublasGetPointerMode)
KLINEAGE_DOES_NOTHING(cublasSetWorkspace) KLINEAGE_DOES_NOTHING(cublasSetVector) KLINEAGE_DOES_NOTHING(cublasGetVector)
KLINEAGE_DOES_NOTHING(cublasSetMatrix) KLINEAGE_DOES_NOTHING(cublasGetMatrix) KLINEAGE_DOES_NOTHING(cublasHgemm)
KLINEAGE_DOES_NOTHING(cublasHgemmStridedBatched) KLINEAGE_DOES_NOTHING(cublasHgemmBatched)
KLINEAGE_DOES_NOTHING(cublasGemmEx) KLINEAGE_DOES_NOTHING(cublasSgemmEx) KLINEAGE_DOES_NOTHING(cublasGemmBatchedEx)
KLINEAGE_DOES_NOTHING(cublasGemmStridedBatchedEx)
KLINEAGE_OF_TYPES(gemm) KLINEAGE_OF_TYPES(gemv) KLINEAGE_OF_TYPES(ger) KLINEAGE_OF_TYPES(trsm) KLINEAGE_OF_TYPES(symm)
KLINEAGE_OF_TYPES(syrk) KLINEAGE_OF_TYPES(gemmBatched) KLINEAGE_OF_TYPES(gemmStridedBatched) KLINEAGE_OF_TYPES(geam)
KLINEAGE_OF_TYPES(axpy) KLINEAGE_OF_TYPES(scal) KLINEAGE_OF_TYPES(copy) KLINEAGE_OF_TYPES(dot) KLINEAGE_OF_TYPES(swap)
inline const char *cublasGetStatusString(cublasStatus_t) { return "no cuBLAS"; }
