#define _DEFAULT_SOURCE

#include "device/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_rt.h"

enum { MOST_PORTS = 8 };  // attempts to bind a port chosen by the system

bool rf_udp_parse(const char *text, uint32_t *host) {
  struct in_addr address;
  if (inet_pton(AF_INET, text, &address) != 1) return false;
  *host = ntohl(address.s_addr);
  return true;
}

static const char *name_of(rf_udp_address address, char text[32]) {
  const uint32_t h = address.host;
  (void)snprintf(text, 32, "%u.%u.%u.%u:%u", (unsigned)(h >> 24), (unsigned)(h >> 16 & 255),
                 (unsigned)(h >> 8 & 255), (unsigned)(h & 255), (unsigned)address.port);
  return text;
}

static void udp_close(void *self) {
  rf_udp *u = self;
  const int s = atomic_load(&u->socket);
  if (s < 0) return;
  const rf_device_wrench zero = {.force_n = {0.0}};
  rf_udp_send_rt(u, atomic_load(&u->now_s), &zero);
  atomic_store(&u->port, 0);
  atomic_store(&u->socket, -1);
  close(s);
}

// Binds a socket and sets its port; -1 on failure.
static int bound(rf_udp_address *here) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t length = sizeof at;
  at.sin_addr.s_addr = htonl(here->host);
  at.sin_port = htons(here->port);
  const int s = socket(AF_INET, SOCK_DGRAM, 0);
  if (s < 0 || fcntl(s, F_SETFD, FD_CLOEXEC) < 0 ||
      bind(s, (const struct sockaddr *)&at, sizeof at) < 0 ||
      getsockname(s, (struct sockaddr *)&at, &length) < 0) {
    const int why = errno;
    if (s >= 0) close(s);
    errno = why;
    return -1;
  }
  here->port = ntohs(at.sin_port);
  return s;
}

static rf_status listen_at(rf_udp *u, rf_error *err) {
  rf_udp_address here;
  int s = -1, why = EADDRINUSE;
  // A port chosen by the system is closed and bound again by number: disconnecting from a client
  // releases a port chosen by the system, but keeps one bound by number.  Another process may take
  // the port in between.
  for (int k = 0; k < MOST_PORTS && s < 0 && why == EADDRINUSE; ++k) {
    here = u->set.here;
    s = bound(&here);
    if (s >= 0 && u->set.here.port == 0) {
      close(s);
      s = bound(&here);
    }
    why = errno;
    if (u->set.here.port != 0) break;
  }
  if (s < 0) {
    char where[32];
    return rf_fail(err, RF_ERR_DEVICE, "cannot listen at %s: %s", name_of(u->set.here, where),
                   strerror(why));
  }
  atomic_store(&u->socket, s);
  atomic_store(&u->port, here.port);
  return RF_OK;
}

static rf_status wait_for_sample(rf_udp *u, rf_error *err) {
  const double until_us = rf_clock_us_rt() + 1e6 * u->set.wait_s;
  rf_device_sample sample = {.count = 0};
  for (;;) {
    if (rf_udp_read_rt(u, 0.0, &sample) < 0)
      return rf_fail(err, RF_ERR_DEVICE, "cannot receive packets: %s",
                     strerror(atomic_load(&u->error)));
    if (sample.count > 0) break;
    const double left_ms = 1e-3 * (until_us - rf_clock_us_rt());
    if (left_ms <= 0.0) {
      char where[32];
      rf_udp_address here = u->set.here;
      here.port = (uint16_t)atomic_load(&u->port);
      const long long others = (long long)(atomic_load(&u->malformed) + atomic_load(&u->foreign));
      return rf_fail(err, RF_ERR_DEVICE,
                     "no valid packet arrived at %s within %g s (%lld packets were malformed or "
                     "came from another address): is the client running?",
                     name_of(here, where), u->set.wait_s, others);
    }
    struct pollfd one = {.fd = atomic_load(&u->socket), .events = POLLIN};
    if (poll(&one, 1, (int)fmin(ceil(left_ms), 100.0)) < 0 && errno == EINTR)
      return rf_fail(err, RF_ERR_INTERRUPTED, "interrupted while waiting for the first sample");
  }
  u->begun = false;  // the time of the session starts anew
  return RF_OK;
}

static rf_status udp_open(void *self, rf_device_info *info, rf_error *err) {
  rf_udp *u = self;
  const rf_udp_address client = u->set.client;
  atomic_store(&u->client, 0);
  atomic_store(&u->connected, false);
  atomic_store(&u->accepting, false);
  atomic_store(&u->newest, 0);
  u->begun = false;
  memset(&u->sample, 0, sizeof u->sample);
  atomic_store(&u->halted, 0);
  atomic_store(&u->error, 0);
  _Atomic int64_t *counts[] = {&u->accepted, &u->old,    &u->foreign, &u->malformed,
                               &u->sent,     &u->unsent, &u->refused};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) atomic_store(counts[k], 0);
  rf_status st = listen_at(u, err);
  if (st < 0) return st;
  if (client.port) rf_udp_connect_rt(u, (uint64_t)client.host << 16 | client.port);
  st = wait_for_sample(u, err);
  if (st < 0) {
    udp_close(u);
    return st;
  }
  *info = (rf_device_info){.max_force_n = u->set.max_force_n,
                           .max_torque_nm = u->set.max_torque_nm,
                           .max_stiffness_n_per_m = INFINITY,
                           .sensed = 6,
                           .actuated = 6};
  const uint64_t from = atomic_load(&u->client);
  char where[32];
  (void)snprintf(info->name, sizeof info->name, "UDP client %s",
                 name_of((rf_udp_address){(uint32_t)(from >> 16), (uint16_t)from}, where));
  return RF_OK;
}

static void udp_halt(void *self) {
  rf_udp *u = self;
  const rf_device_wrench zero = {.force_n = {0.0}};
  atomic_store(&u->halted, 1);
  rf_udp_send_rt(u, atomic_load(&u->now_s), &zero);
}

static const char *udp_why(void *self) {
  rf_udp *u = self;
  const int error = atomic_load(&u->error);
  if (!error) return "";
  (void)snprintf(u->text, sizeof u->text, "the socket: %s", strerror(error));
  return u->text;
}

// Closes the socket without sending to the client.
static void udp_leave(void *self) {
  rf_udp *u = self;
  const int s = atomic_load(&u->socket);
  atomic_store(&u->port, 0);
  atomic_store(&u->socket, -1);
  if (s >= 0) close(s);
}

static void udp_release(void *self) {
  udp_leave(self);
  rf_free(self);
}

static const rf_device_table table = {.open = udp_open,
                                      .close = udp_close,
                                      .release = udp_release,
                                      .read_rt = rf_udp_read_rt,
                                      .write_rt = rf_udp_write_rt,
                                      .halt = udp_halt,
                                      .why = udp_why,
                                      .leave = udp_leave};

rf_status rf_udp_create(const rf_udp_settings *set, rf_device **out, rf_error *err) {
  rf_udp *u = NULL;
  rf_status st = RF_OK;
  if (!(set->wait_s >= 0.0 && set->wait_s <= 3600.0))
    return rf_fail(err, RF_ERR_ARG, "wait must be between 0 and 3600 s, got %g", set->wait_s);
  if (set->takeover && set->client.port != 0)
    return rf_fail(
        err, RF_ERR_ARG,
        "takeover permits any client, but client names one: leave out one of these arguments");
  RF_TRY(rf_device_check_limits(set->max_force_n, set->max_torque_nm, err));
  RF_ALLOC(u, 1);
  u->set = *set;
  atomic_store(&u->socket, -1);
  RF_TRY(rf_device_create(&table, u, out, err));
  u = NULL;
done:
  if (u) udp_release(u);
  return st;
}

bool rf_udp_read_counts(const rf_device *device, rf_udp_counts *out) {
  if (device->table != &table) return false;
  rf_udp *u = device->self;
  *out = (rf_udp_counts){.accepted = atomic_load(&u->accepted),
                         .old = atomic_load(&u->old),
                         .foreign = atomic_load(&u->foreign),
                         .malformed = atomic_load(&u->malformed),
                         .sent = atomic_load(&u->sent) - atomic_load(&u->unsent),
                         .unsent = atomic_load(&u->unsent),
                         .refused = atomic_load(&u->refused),
                         .port = atomic_load(&u->port)};
  return true;
}

rf_status rf_udp_accept(const rf_device *device, rf_error *err) {
  if (device->table != &table) return rf_fail(err, RF_ERR_ARG, "the device is not a UdpDevice");
  rf_udp *u = device->self;
  if (u->set.client.port != 0)
    return rf_fail(err, RF_ERR_ARG,
                   "the device was made with client=..., so it accepts no other client");
  if (atomic_load(&u->socket) < 0)
    return rf_fail(err, RF_ERR_ARG, "the device is not open: start its session first");
  atomic_store(&u->accepting, true);
  return RF_OK;
}
