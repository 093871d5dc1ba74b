// The list of laws.  A new one has a row in both halves: its body, and its name here and in Python.
// Template: included by law.h for the names, and by laws.c for the bodies, for each instruction
// set. No include guard, on purpose.
#ifdef LANES
#include "material/common_body.h"
#include "material/principal_body.h"

#include "material/definite_body.h"

#include "material/corotated_body.h"
#include "material/linear_body.h"
#include "material/mooney_rivlin_body.h"
#include "material/neo_hookean_body.h"
#include "material/stable_neo_hookean_body.h"
#include "material/stvk_body.h"
#else
#define RF_LAWS(ROW)                          \
  ROW(stvk, "StVK")                           \
  ROW(linear, "LinearElastic")                \
  ROW(stable_neo_hookean, "StableNeoHookean") \
  ROW(neo_hookean, "NeoHookean")              \
  ROW(mooney_rivlin, "MooneyRivlin")          \
  ROW(corotated, "Corotated")
#endif
