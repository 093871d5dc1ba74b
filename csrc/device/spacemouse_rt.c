#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>

#include "device/spacemouse.h"
#include "linalg/quat.h"

// Limits of reads and bytes per cycle; the rest is read in the next one.
enum { MOST_READS = 64, READ_BYTES = 1024 };
enum { MOTION, PRESS, RELEASE, DEVICES, REMOVED = 1 };
static const uint32_t ANSWER = 0x7faa5500u, ANSWER_MASK = 0xffffff00u;

// Returns the share of the velocity at the stops.
static double share_of(const rf_spacemouse_settings *set, int32_t reading) {
  const double share = fmax(-1.0, fmin(reading / set->full, 1.0));
  const double above = fabs(share) - set->deadband;
  return above > 0.0 ? copysign(above / (1.0 - set->deadband), share) : 0.0;
}

static void take(rf_spacemouse *m, const int32_t word[8]) {
  const uint32_t bit = word[1] >= 0 && word[1] < 32 ? UINT32_C(1) << word[1] : 0;
  switch (word[0]) {
    case MOTION:
      for (int i = 0; i < 6; ++i)
        m->rate[i] =
            share_of(&m->set, word[i + 1]) * (i < 3 ? m->set.speed_m_s : m->set.turn_rad_s);
      break;
    case PRESS: m->buttons |= bit; break;
    case RELEASE: m->buttons &= ~bit; break;
    case DEVICES:
      if (word[1] == REMOVED) m->loss = RF_SPACEMOUSE_UNPLUGGED;
      break;
    default: break;
  }
}

static void feed(rf_spacemouse *m, const uint8_t *bytes, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    m->packet[m->have++] = bytes[k];
    uint32_t first;
    memcpy(&first, m->packet, sizeof first);
    if (m->have == (int32_t)sizeof first && (first & ANSWER_MASK) == ANSWER) m->have = 0;
    if (m->have < RF_SPACEMOUSE_PACKET) continue;
    int32_t word[8];
    memcpy(word, m->packet, sizeof word);
    m->have = 0;
    take(m, word);
  }
}

static void listen_to(rf_spacemouse *m) {
  uint8_t bytes[READ_BYTES];
  for (int k = 0; k < MOST_READS && m->loss == RF_SPACEMOUSE_THERE; ++k) {
    const int64_t n = recv(m->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
      feed(m, bytes, n);
    } else if (n == 0 || errno == ECONNRESET) {
      m->loss = RF_SPACEMOUSE_ENDED;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      m->loss = RF_SPACEMOUSE_BROKEN;
      m->error = errno;
    }
  }
}

static void move(rf_spacemouse *m, double dt_s) {
  double rotation[3], step[4], turned[4];
  for (int i = 0; i < 3; ++i) {
    m->pose.position_m[i] += dt_s * m->rate[i];
    rotation[i] = dt_s * m->rate[i + 3];
  }
  rf_quat_of_rotation(rotation, step);
  rf_quat_multiply(step, m->pose.quaternion, turned);
  rf_quat_normalize(turned, m->pose.quaternion);
}

rf_status rf_spacemouse_read_rt(void *self, double time_s, rf_device_sample *out) {
  rf_spacemouse *m = self;
  if (m->begun) move(m, fmax(0.0, time_s - m->last_s));
  m->begun = true;
  m->last_s = time_s;
  listen_to(m);
  if (m->loss != RF_SPACEMOUSE_THERE) return RF_ERR_DEVICE;
  out->pose = m->pose;
  memcpy(out->velocity_m_s, m->rate, sizeof out->velocity_m_s);
  memcpy(out->turn_rad_s, m->rate + 3, sizeof out->turn_rad_s);
  out->buttons = m->buttons;
  // a resting cap sends nothing, but is present as long as the connection is
  out->count = ++m->count;
  return RF_OK;
}

rf_status rf_spacemouse_write_rt(void *self, double time_s, const rf_device_wrench *wrench) {
  (void)self;
  (void)time_s;
  (void)wrench;
  return RF_OK;
}
