#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "device/udp.h"

// Limit of packets read per cycle; the rest is read in the next one.
enum { MOST_PACKETS = 64 };
// Time without a valid sample after which the client may restart, or be another one.
static const double FORGET_S = 1.0;
static const double NORM_TOLERANCE = 1e-3;

#define LOAD(a) atomic_load_explicit(&(a), memory_order_relaxed)
#define STORE(a, value) atomic_store_explicit(&(a), (value), memory_order_relaxed)
#define COUNT(a) STORE(a, LOAD(a) + 1)

// ---- numbers in packets -----------------------------------------------------------------

static uint64_t get(const uint8_t *from, int bytes) {
  uint64_t value = 0;
  for (int k = bytes - 1; k >= 0; --k) value = value << 8 | from[k];
  return value;
}

static void put(uint8_t *to, int bytes, uint64_t value) {
  for (int k = 0; k < bytes; ++k, value >>= 8) to[k] = (uint8_t)value;
}

static bool get_reals(const uint8_t *from, int n, double *out) {
  bool good = true;
  for (int k = 0; k < n; ++k) {
    const uint64_t bits = get(from + 8 * k, 8);
    memcpy(&out[k], &bits, sizeof bits);
    good = good && isfinite(out[k]);
  }
  return good;
}

static void put_reals(uint8_t *to, int n, const double *values) {
  for (int k = 0; k < n; ++k) {
    uint64_t bits;
    memcpy(&bits, &values[k], sizeof bits);
    put(to + 8 * k, 8, bits);
  }
}

static bool decode(const uint8_t *packet, int64_t bytes, uint64_t *sequence,
                   rf_device_sample *out) {
  double time_s;
  if (bytes != RF_UDP_SAMPLE_BYTES || memcmp(packet, "RFDS", 4) != 0 ||
      get(packet + 4, 2) != RF_UDP_VERSION || get(packet + 6, 2) != RF_UDP_SAMPLE_BYTES)
    return false;
  *sequence = get(packet + 8, 8);
  if (*sequence == 0 || !get_reals(packet + 16, 1, &time_s) ||
      !get_reals(packet + 24, 3, out->pose.position_m) ||
      !get_reals(packet + 48, 4, out->pose.quaternion) ||
      !get_reals(packet + 80, 3, out->velocity_m_s) || !get_reals(packet + 104, 3, out->turn_rad_s))
    return false;
  const double norm = rf_pose_norm_rt(&out->pose);
  if (!(fabs(norm - 1.0) <= NORM_TOLERANCE)) return false;
  for (int i = 0; i < 4; ++i) out->pose.quaternion[i] /= norm;
  out->buttons = (uint32_t)get(packet + 128, 4);
  return rf_pose_usable_rt(&out->pose);
}

// ---- receive ----------------------------------------------------------------------------

static uint64_t number_of(const struct sockaddr_in *from) {
  return (uint64_t)ntohl(from->sin_addr.s_addr) << 16 | ntohs(from->sin_port);
}

static struct sockaddr_in address_of(uint64_t number) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl((uint32_t)(number >> 16));
  address.sin_port = htons((uint16_t)number);
  return address;
}

void rf_udp_connect_rt(rf_udp *u, uint64_t client) {
  const struct sockaddr_in to = address_of(client);
  STORE(u->client, client);
  STORE(u->connected, connect(LOAD(u->socket), (const struct sockaddr *)&to, sizeof to) == 0);
}

// Dissolves the association with one client, so that packets from any address arrive again.
static void disconnect(rf_udp *u) {
  struct sockaddr none;
  if (!LOAD(u->connected)) return;
  memset(&none, 0, sizeof none);
  none.sa_family = AF_UNSPEC;
  (void)connect(LOAD(u->socket), &none, sizeof none);
  STORE(u->connected, false);
}

// True for errors that the network reports about an earlier packet; the socket remains usable.
static bool is_refusal(int error) {
  return error == ECONNREFUSED || error == ENOPROTOOPT || error == EHOSTUNREACH ||
         error == ENETUNREACH || error == EHOSTDOWN;
}

rf_status rf_udp_read_rt(void *self, double time_s, rf_device_sample *out) {
  rf_udp *u = self;
  const int from_socket = LOAD(u->socket);
  if (!u->begun) u->heard_s = time_s;
  u->begun = true;
  STORE(u->now_s, time_s);
  // replies go to the client heard last
  const bool lost = time_s - u->heard_s > FORGET_S;
  const bool left = lost && (u->set.takeover || LOAD(u->accepting));
  bool any = LOAD(u->client) == 0 || left;
  if (lost) STORE(u->newest, 0);
  if (left) disconnect(u);
  for (int k = 0; k < MOST_PACKETS; ++k) {
    uint8_t packet[RF_UDP_SAMPLE_BYTES + 1];  // one byte more, to detect longer packets
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    const int64_t bytes = recvfrom(from_socket, packet, sizeof packet, MSG_DONTWAIT,
                                   (struct sockaddr *)&from, &length);
    if (bytes < 0) {
      if (is_refusal(errno)) atomic_fetch_add(&u->refused, 1);
      if (errno == EINTR || is_refusal(errno)) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      STORE(u->error, errno);
      return RF_ERR_DEVICE;
    }
    uint64_t sequence;
    rf_device_sample sample;
    const uint64_t who = number_of(&from);
    if (!any && LOAD(u->client) != who) {
      COUNT(u->foreign);
    } else if (!decode(packet, bytes, &sequence, &sample)) {
      COUNT(u->malformed);
    } else if (sequence <= LOAD(u->newest)) {
      COUNT(u->old);
    } else {
      sample.count = u->sample.count + 1;
      sample.other = u->sample.other || (LOAD(u->client) != 0 && LOAD(u->client) != who);
      u->sample = sample;
      u->heard_s = time_s;
      if (any) {
        STORE(u->accepting, false);
        rf_udp_connect_rt(u, who);
      }
      any = false;
      STORE(u->newest, sequence);
      COUNT(u->accepted);
    }
  }
  *out = u->sample;
  u->sample.other = false;
  return RF_OK;
}

// ---- send -------------------------------------------------------------------------------

// Sends again if the system only reported that an earlier packet was refused.
static bool send_packet(rf_udp *u, const void *packet, size_t bytes) {
  const struct sockaddr_in to = address_of(LOAD(u->client));
  for (int k = 0; k < 2; ++k) {
    const int64_t sent = sendto(LOAD(u->socket), packet, bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
                                (const struct sockaddr *)&to, sizeof to);
    if (sent == (int64_t)bytes) return true;
    if (!(sent < 0 && is_refusal(errno))) return false;
    atomic_fetch_add(&u->refused, 1);
  }
  return false;
}

void rf_udp_send_rt(rf_udp *u, double time_s, const rf_device_wrench *wrench) {
  if (LOAD(u->client) == 0) return;
  uint8_t packet[RF_UDP_WRENCH_BYTES] = "RFDW";
  put(packet + 4, 2, RF_UDP_VERSION);
  put(packet + 6, 2, RF_UDP_WRENCH_BYTES);
  // the halting thread may send as well: an atomic counter keeps sequence numbers unique
  put(packet + 8, 8, (uint64_t)atomic_fetch_add(&u->sent, 1) + 1);
  put_reals(packet + 16, 1, &time_s);
  put(packet + 24, 8, LOAD(u->newest));
  put_reals(packet + 32, 3, wrench->force_n);
  put_reals(packet + 56, 3, wrench->torque_nm);
  // the network or the client may be unavailable for a while; the missing samples reveal that
  if (!send_packet(u, packet, sizeof packet)) atomic_fetch_add(&u->unsent, 1);
}

rf_status rf_udp_write_rt(void *self, double time_s, const rf_device_wrench *wrench) {
  rf_udp *u = self;
  rf_device_wrench out;
  memset(&out, 0, sizeof out);
  if (!LOAD(u->halted)) out = *wrench;
  rf_udp_send_rt(u, time_s, &out);
  return RF_OK;
}
