// A bridge to a device read by another program: packets over UDP.
//
// The other program, the client, sends samples and receives wrenches.  Packets have a fixed layout;
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
// Samples with a number not above the newest, with a wrong layout or non-finite values, or from
// another sender are counted and skipped.  The client is the sender of the first valid sample,
// unless it is given.  From then on the socket is connected to it: the system drops packets of
// other senders and reports packets that the network rejects.  After a second without a valid
// sample the client may restart with any number; another client may replace it only with
// `takeover`, or once after rf_udp_accept.
//
// No authentication; binds to 127.0.0.1 by default.  The limits of the host do not protect the
// device: a client must render no force when packets stay away.
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
  rf_udp_address client;              // port 0: the first sender
  bool takeover;                      // another client may replace a silent one
  double wait_s;                      // time to wait for the first sample when opening, >= 0
  double max_force_n, max_torque_nm;  // largest that the client renders, > 0; infinite: no limit
} rf_udp_settings;

// Counts of packets since opening.
typedef struct rf_udp_counts {
  int64_t accepted;
  int64_t old;        // number not above the newest
  int64_t foreign;    // from other senders
  int64_t malformed;  // wrong length or version, or non-finite values
  int64_t sent, unsent;
  int64_t refused;  // reports of the network that a packet was rejected
  int32_t port;     // port in use; 0: not open
} rf_udp_counts;

typedef struct rf_udp {
  rf_udp_settings set;
  _Atomic int socket;       // -1: not open
  _Atomic uint64_t client;  // address and port as one number; 0: none yet
  _Atomic uint64_t newest;  // sequence number
  bool begun;
  double heard_s;  // time of the last valid sample
  rf_device_sample sample;
  _Atomic double now_s;
  atomic_bool connected;  // the socket is connected to the client
  atomic_bool accepting;  // another client may follow
  _Atomic int halted;
  _Atomic int error;  // errno of the failure
  _Atomic int64_t accepted, old, foreign, malformed, sent, unsent, refused;
  _Atomic int port;
  char text[160];
} rf_udp;

// Parses four decimal numbers separated by points; false if that is not an address.
bool rf_udp_parse(const char *text, uint32_t *host);

RF_MUST_CHECK rf_status rf_udp_create(const rf_udp_settings *set, rf_device **out, rf_error *err);
// Reads the counts; false if the device is no bridge.
bool rf_udp_read_counts(const rf_device *device, rf_udp_counts *out);
// Permits another client to replace the present one after a second of silence: once, at most until
// the device is closed.
RF_MUST_CHECK rf_status rf_udp_accept(const rf_device *device, rf_error *err);

rf_status rf_udp_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_udp_write_rt(void *self, double time_s, const rf_device_wrench *wrench);
// Makes the system deliver only packets of this client.  Where it does not, other senders are
// recognised by address.
void rf_udp_connect_rt(rf_udp *u, uint64_t client);
// Sends a wrench to the client, if there is one.
void rf_udp_send_rt(rf_udp *u, double time_s, const rf_device_wrench *wrench);

#endif
