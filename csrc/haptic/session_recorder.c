// The thread that writes records to a file.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // for nanosleep
#endif

#include <errno.h>
#include <unistd.h>

#include "haptic/session_state.h"

void rf_session_close_file(rf_session *s) {
  if (s->file >= 0) close(s->file);
  s->file = -1;
}

// Writes the rest of the block; false: the file accepts no more.
static bool write_block(rf_session *s) {
  const size_t bytes = s->loop.recorded.bytes;
  const char *from = s->block + s->block_at * bytes;
  const size_t all = (s->block_n - s->block_at) * bytes;
  size_t done = 0;
  while (done < all) {
    const ssize_t n = write(s->file, from + done, all - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      atomic_store(&s->file_error, n < 0 ? errno : EIO);
      return false;
    }
    const size_t before = done / bytes;
    done += (size_t)n;
    const size_t more = done / bytes - before;
    s->block_at += more;
    atomic_fetch_add(&s->written, (int64_t)more);
  }
  return true;
}

// Writes records until the ring is empty.  Those that could not be written stay in the block.
static void drain(rf_session *s) {
  while (!atomic_load(&s->file_error)) {
    if (!write_block(s)) return;
    s->block_at = 0;
    s->block_n = rf_ring_read_rt(&s->loop.records, RF_SESSION_FILE_BLOCK, s->block);
    if (s->block_n == 0) return;
  }
}

void *rf_session_write_records(void *context) {
  rf_session *s = context;
  while (!atomic_load(&s->ended)) {
    rf_session_nap(RF_SESSION_POLL_S);
    drain(s);
  }
  drain(s);
  atomic_store(&s->written_out, true);
  return NULL;
}

bool rf_session_finish_records(rf_session *s) {
  if (!s->has_writer) return true;
  rf_stillness w = rf_stillness_begin();
  while (!atomic_load(&s->written_out)) {
    if (rf_stillness_us(&w, atomic_load(&s->written)) > 1e6 * s->set.patience_s) return false;
    rf_session_nap(RF_SESSION_POLL_S);
  }
  pthread_join(s->writer, NULL);
  s->has_writer = false;
  rf_session_close_file(s);
  return true;
}
