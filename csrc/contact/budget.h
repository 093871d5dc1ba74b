// Clock policy of the search: which levels of the tree a cycle visits (B07 3.10.3).
//
// A level that was rendered in the last cycle may use the whole budget, a deeper one the part
// cold_ratio of it.  Nodes or time are counted.
//
// A limit of nodes decides before a level is begun.  A limit of time drops a level when it runs
// out, at one of the laps between which the clock is read.  With temporal coherence the work is not
// lost then: nodes found to be clear are skipped in the next cycles, until the level ends in time.
// A level is therefore begun even if it may not end.  Otherwise deep levels, all of whose nodes are
// due after some time without being rendered, would appear to cost more than they do.
//
// Costs of a node and of a touching point are running means over about a thousand of them.  A lap
// that takes more than twice what it should was interrupted by the machine: it counts twice at
// most, and a cycle that is late for that reason finishes the levels of the last one, so that the
// force does not jump.  Level 0 is always rendered.
#ifndef RF_CONTACT_BUDGET_H
#define RF_CONTACT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

// Nodes between two readings of the clock, which costs as much as one of them.
enum { RF_CONTACT_LAP = 64 };

// Costs relative to that of a visited node: of a copied node, whose place and distance are known,
// and of skipping a node that is not due.
#define RF_CONTACT_COPY_COST 0.25
#define RF_CONTACT_SKIP_COST 0.04

typedef struct rf_contact_budget {
  // settings
  bool timed;          // time limits the levels, not nodes
  double limit_us;     // of a cycle; used if timed
  int32_t warm_nodes;  // nodes of a cycle; used if not timed; 0: no limit
  double cold_ratio;   // part of either that levels not rendered in the last cycle may use
  bool coherence;      // visited nodes may be skipped in the next cycles

  // running estimates
  double node_us, contact_us;  // costs of a visited node and of a touching point
  int32_t last_level;          // deepest one rendered in the last cycle; -1: none

  // this cycle
  double start_us, look_us;  // its beginning, and the last reading of the clock
  double effort;             // work since that reading, in visited nodes
  double grace_us;           // length of an interruption that made the cycle late
  int64_t counted;           // nodes of the levels rendered so far
} rf_contact_budget;

// Nodes queued for a level, and what was found before it.
typedef struct rf_contact_queue {
  int32_t copies, fresh;
  int32_t visited, touching;
} rf_contact_queue;

// Forgets all estimates; r: reduced coordinates of the shell, which make a touching point dearer.
void rf_contact_budget_reset_rt(rf_contact_budget *b, int32_t r);
// Begins a cycle: its time runs from now on.
void rf_contact_budget_begin_rt(rf_contact_budget *b);
// Reads the clock, and updates the cost of a node by the work since the last reading.
void rf_contact_budget_look_rt(rf_contact_budget *b);
// True if a level is worth beginning.
bool rf_contact_budget_opens_rt(const rf_contact_budget *b, int32_t level,
                                const rf_contact_queue *queued);
// Before a lap over some of the `left` nodes of a level, each of a cost of `share` nodes: false if
// it would end late.
bool rf_contact_budget_lap_rt(rf_contact_budget *b, int32_t level, double share, int32_t left,
                              int32_t touching);
// After the last node of a level: reads the clock; false if the level must be dropped, as the
// forces of its touching points would be late.
bool rf_contact_budget_closes_rt(rf_contact_budget *b, int32_t level, int32_t touching);
// Updates the cost of a touching point by n of them, computed since `since_us`; returns the time.
double rf_contact_budget_contacts_rt(rf_contact_budget *b, double since_us, int32_t n);

#endif
