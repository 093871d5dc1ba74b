// Settings by name: the binding fills a struct from a table of these, which ends with a name of
// NULL.
#ifndef RF_BASE_SETTINGS_H
#define RF_BASE_SETTINGS_H

#include <stddef.h>

typedef enum rf_setting_kind {
  RF_SETTING_DOUBLE,
  RF_SETTING_INT32,
  RF_SETTING_INT64,
  RF_SETTING_UINT32,
  RF_SETTING_BOOL,
  RF_SETTING_ARRAY  // const double *, of a length that the binding knows; NULL: none
} rf_setting_kind;

typedef enum rf_setting_range {
  RF_SETTING_ANY,
  RF_SETTING_POSITIVE,
  RF_SETTING_NOT_NEGATIVE
} rf_setting_range;

typedef struct rf_setting {
  const char *name;
  size_t offset;  // in the struct
  rf_setting_kind kind;
  int count;               // numbers of an array of doubles; 0: one value
  rf_setting_range range;  // that contact laws require (contact/law.h), of finite numbers
  const char *given;       // name in messages about its values; NULL: its own
} rf_setting;

// One row of a table: the setting `name` is the `field` of the struct `of`.
#define RF_SETTING(of, name, field, kind, count) \
  {name, offsetof(of, field), RF_SETTING_##kind, count, RF_SETTING_ANY, NULL}

#endif
