// Registry of the kinds of bodies: one row a kind.
#ifndef RF_BODY_KINDS_H
#define RF_BODY_KINDS_H

#include "body/body.h"

#define RF_BODY_KINDS(ROW)                                          \
  ROW(fixed)   /* at rest at its place */                           \
  ROW(held)    /* moved from outside; deforms if it has a motion */ \
  ROW(reduced) /* deforms in a frame at rest */                     \
  ROW(free)    /* moves and deforms (dynamics/free_body.h) */

#define RF_BODY_DECLARE(name) extern const rf_body_kind rf_body_##name##_kind;
RF_BODY_KINDS(RF_BODY_DECLARE)
#undef RF_BODY_DECLARE

#endif
