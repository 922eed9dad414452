// For toolkits that come without cuBLAS. What sets up its descriptors does not compile with it, and is lost alone.
#pragma once
#include "cublas_v2.h"
struct cublasLtMatmulDescOpaque_t {};
struct cublasLtMatrixLayoutOpaque_t {};
struct cublasLtMatmulPreferenceOpaque_t {};
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;
struct cublasLtMatmulAlgo_t {};
struct cublasLtMatmulHeuristicResult_t { cublasLtMatmulAlgo_t algo; size_t workspaceSize; cublasStatus_t state; float wavesCount; };
