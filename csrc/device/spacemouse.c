#define _DEFAULT_SOURCE

#include "device/spacemouse.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"

static const int32_t GREETING = 0x7faa5501;

static void mouse_close(void *self) {
  rf_spacemouse *m = self;
  if (m->socket >= 0) close(m->socket);
  m->socket = -1;
}

// Connects to the daemon; returns errno, 0 on success.
static int connect_to(rf_spacemouse *m) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", m->set.path);
  errno = 0;  // a partial send sets no errno
  m->socket = socket(AF_UNIX, SOCK_STREAM, 0);
  // non-blocking: a daemon that accepts no connection is an error, not a wait
  if (m->socket >= 0 && fcntl(m->socket, F_SETFD, FD_CLOEXEC) == 0 &&
      fcntl(m->socket, F_SETFL, O_NONBLOCK) == 0 &&
      connect(m->socket, (const struct sockaddr *)&to, sizeof to) == 0 &&
      send(m->socket, &GREETING, sizeof GREETING, MSG_NOSIGNAL) == (ssize_t)sizeof GREETING)
    return 0;
  const int error = errno;
  mouse_close(m);
  return error ? error : EIO;
}

static rf_status mouse_open(void *self, rf_device_info *info, rf_error *err) {
  rf_spacemouse *m = self;
  m->have = 0;
  m->begun = false;
  memset(m->rate, 0, sizeof m->rate);
  m->buttons = 0;
  m->count = 0;
  m->loss = RF_SPACEMOUSE_THERE;
  m->error = 0;
  const int error = connect_to(m);
  if (error)
    return rf_fail(err, RF_ERR_DEVICE,
                   "cannot connect to the Spacenav daemon at %s: %s; is spacenavd running?",
                   m->set.path, strerror(error));
  *info = (rf_device_info){.name = "SpaceMouse", .max_stiffness_n_per_m = INFINITY, .sensed = 6};
  return RF_OK;
}

static const char *mouse_why(void *self) {
  rf_spacemouse *m = self;
  switch (m->loss) {
    case RF_SPACEMOUSE_ENDED: return "the Spacenav daemon has closed the connection";
    case RF_SPACEMOUSE_UNPLUGGED: return "the Spacenav daemon reports that it was unplugged";
    case RF_SPACEMOUSE_BROKEN:
      (void)snprintf(m->text, sizeof m->text, "the connection to the Spacenav daemon: %s",
                     strerror(m->error));
      return m->text;
    default: return "";
  }
}

static void mouse_release(void *self) {
  mouse_close(self);
  rf_free(self);
}

static const rf_device_table table = {.open = mouse_open,
                                      .close = mouse_close,
                                      .release = mouse_release,
                                      .read_rt = rf_spacemouse_read_rt,
                                      .write_rt = rf_spacemouse_write_rt,
                                      .why = mouse_why,
                                      .leave = mouse_close};

rf_status rf_spacemouse_create(const rf_spacemouse_settings *set, rf_device **out, rf_error *err) {
  rf_spacemouse *m = NULL;
  rf_status st = RF_OK;
  if (!(isfinite(set->speed_m_s) && isfinite(set->turn_rad_s)))
    return rf_fail(err, RF_ERR_ARG, "speed and turn must be finite, got %g and %g", set->speed_m_s,
                   set->turn_rad_s);
  if (!(isfinite(set->full) && set->full > 0.0))
    return rf_fail(err, RF_ERR_ARG, "full must be finite and positive, got %g", set->full);
  if (!(set->deadband >= 0.0 && set->deadband < 1.0))
    return rf_fail(err, RF_ERR_ARG, "deadband must be in [0, 1), got %g", set->deadband);
  RF_ALLOC(m, 1);
  m->set = *set;
  m->socket = -1;
  m->pose.quaternion[0] = 1.0;
  RF_TRY(rf_device_create(&table, m, out, err));
  m = NULL;
done:
  if (m) mouse_release(m);
  return st;
}
