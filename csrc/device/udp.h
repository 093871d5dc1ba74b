// A bridge to a device that another program reads: packets over UDP.
//
// The other program, the client, sends samples; it is sent wrenches.  Packets have a fixed layout,
// numbers are little-endian, floats IEEE 754 of 8 bytes, units SI:
//
//   sample, client to host, 136 bytes            wrench, host to client, 80 bytes
//     0  char[4]    "RFDS"                         0  char[4]    "RFDW"
//     4  uint16     version, 1                     4  uint16     version, 1
//     6  uint16     bytes, 136                     6  uint16     bytes, 80
//     8  uint64     sequence number, 1, 2, ...     8  uint64     sequence number, 1, 2, ...
//    16  float64    time of the client, s         16  float64    time of the session, s
//    24  float64[3] position, m                   24  uint64     newest sample's number; 0: none
//    48  float64[4] quaternion, w x y z           32  float64[3] force on the hand, N
//    80  float64[3] velocity, m/s                 56  float64[3] torque on the hand, N m
//   104  float64[3] angular velocity, rad/s
//   128  uint32     buttons, a bit each
//   132  uint32     0
//
// Samples whose number is not above that of the newest, which are not as above or not finite, or
// come from elsewhere are counted and skipped.  The client is who sends the first good sample,
// unless it is given.  From then on the socket is connected to it: the system drops the packets of
// others, and reports those of ours that the network refuses.  When nothing good came for a second,
// the client may begin with any number again; another one may take its place only with `takeover`,
// or once after rf_udp_accept.
//
// No authentication; binds to 127.0.0.1 by default.  Limits on the host are none of the device's
// own: a client must render no force when packets stay away.
#ifndef RF_DEVICE_UDP_H
#define RF_DEVICE_UDP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

enum { RF_UDP_VERSION = 1, RF_UDP_SAMPLE_BYTES = 136, RF_UDP_WRENCH_BYTES = 80 };

// IPv4, host byte order.
typedef struct rf_udp_address {
  uint32_t host;
  uint16_t port;  // 0: any
} rf_udp_address;

typedef struct rf_udp_settings {
  rf_udp_address here;
  rf_udp_address client;              // port 0: the first one that sends
  bool takeover;                      // another client may follow one that is silent
  double wait_s;                      // for the first sample when it is opened, >= 0
  double max_force_n, max_torque_nm;  // that the client renders, > 0; infinite: any
} rf_udp_settings;

// Packets since it was opened.
typedef struct rf_udp_counts {
  int64_t accepted;
  int64_t old;        // not above the newest in number
  int64_t foreign;    // from elsewhere
  int64_t malformed;  // of another length, version, or with what is not finite
  int64_t sent, unsent;
  int64_t refused;  // notes of the network that a packet did not arrive
  int32_t port;     // where it listens; 0: it is not open
} rf_udp_counts;

typedef struct rf_udp {
  rf_udp_settings set;
  _Atomic int socket;       // -1: not open
  _Atomic uint64_t client;  // address and port as one number; 0: nobody yet
  _Atomic uint64_t newest;  // sequence number
  bool begun;
  double heard_s;  // when a good sample came
  rf_device_sample sample;
  _Atomic double now_s;
  atomic_bool connected;  // to the client
  atomic_bool accepting;  // another one may follow
  _Atomic int halted;
  _Atomic int error;  // errno of the failure
  _Atomic int64_t accepted, old, foreign, malformed, sent, unsent, refused;
  _Atomic int port;
  char text[160];
} rf_udp;

// A number of 1 to 3 digits four times with points between; false: that is no address.
bool rf_udp_parse(const char *text, uint32_t *host);

RF_MUST_CHECK rf_status rf_udp_create(const rf_udp_settings *set, rf_device **out, rf_error *err);
// false: that device is no bridge
bool rf_udp_read_counts(const rf_device *device, rf_udp_counts *out);
// The next client that sends after the present one was silent for a second takes its place: once,
// and until the device is closed.
RF_MUST_CHECK rf_status rf_udp_accept(const rf_device *device, rf_error *err);

rf_status rf_udp_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_udp_write_rt(void *self, double time_s, const rf_device_wrench *wrench);
// Only this client's packets come through from now on.  Where the system does not do that, the
// others are told apart by their address.
void rf_udp_connect_rt(rf_udp *u, uint64_t client);
// To the client, if there is one.
void rf_udp_send_rt(rf_udp *u, double time_s, const rf_device_wrench *wrench);

#endif
