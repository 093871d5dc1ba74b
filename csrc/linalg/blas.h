// The BLAS and LAPACK routines in use, and properties of their library.
//
// OpenBLAS chooses its kernels when it is loaded; releases older than a processor fall back to slow
// ones (Debian 12's 0.3.21 takes recent Xeons for an SSE3 machine). rf_blas_choose_kernels repairs
// that where the library permits; rf_blas_describe reports the kernels in use.
//
// The thread count of OpenBLAS belongs to the process.  Parallel code brackets its BLAS calls by
// rf_blas_serial_begin / _end, which nest and are counted over all threads.
#ifndef RF_LINALG_BLAS_H
#define RF_LINALG_BLAS_H

#include <stdint.h>

#include "base/status.h"

// In a library whose names all have a prefix, these have it, too: setup.py renames them by macros.
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);
void dsyrk_(const char *uplo, const char *trans, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *beta, double *c, const int *ldc);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s,
             double *u, const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork,
             int *iwork, int *info);
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info);
void dormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k,
             const double *a, const int *lda, const double *tau, double *c, const int *ldc,
             double *work, const int *lwork, int *info);
void dsygvd_(const int *itype, const char *jobz, const char *uplo, const int *n, double *a,
             const int *lda, double *b, const int *ldb, double *w, double *work, const int *lwork,
             int *iwork, const int *liwork, int *info);
void dtrsm_(const char *side, const char *uplo, const char *transa, const char *diag, const int *m,
            const int *n, const double *alpha, const double *a, const int *lda, double *b,
            const int *ldb);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

void rf_blas_serial_begin(void);
void rf_blas_serial_end(void);

typedef struct rf_blas_description {
  char core[64];          // OpenBLAS kernel family in use, e.g. "SkylakeX"; "unknown" elsewhere
  char best[64];          // family that fits this processor; "" when not known
  char core_vectors[16];  // widest vectors of each family: "SSE", "AVX", "AVX2",
  char best_vectors[16];  // "AVX-512"; "" when not known
  char config[256];       // build configuration string of the library
  char library[1024];     // file that provides the BLAS symbols
  int threads;            // thread count of the library, 0 when not known
  int fallback;           // 1 when the family in use has narrower vectors than the processor
} rf_blas_description;

void rf_blas_describe(rf_blas_description *out);

// Makes a loaded OpenBLAS choose its kernels again if it fell back; returns 1 when the family in
// use changed.  Must not run while another thread is inside BLAS: the extension calls it once, at
// import.
int rf_blas_choose_kernels(void);

#endif
