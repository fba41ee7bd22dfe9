/* Recordings that a program makes of itself, and labels of its threads, for C11 and C++. Header
 * only, and nothing is linked: without libswipr_preload.so in LD_PRELOAD every function does
 * nothing and returns -1.
 *
 *   swipr_start_recording("/tmp/slow.swipr", NULL);
 *   slow();
 *   swipr_stop_recording();          // swipr report /tmp/slow.swipr
 *
 *   struct swipr_label_scope scope;
 *   swipr_label_begin(&scope, "endpoint", "/cart");
 *   answer();                        // swipr report --label endpoint=/cart FILE
 *   swipr_label_end(&scope);
 *
 * Functions of recordings talk to the library through its socket, as curl would: see swipr(1).
 * Context: any thread, not in signal handlers. A function that fails leaves its reason in errno.
 * Functions of labels are further down; they may be called in signal handlers.
 */
#ifndef SWIPR_SWIPR_H
#define SWIPR_SWIPR_H

#ifdef __cplusplus
#pragma GCC system_header /* C casts */
#endif

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the library has in the program's memory under the name swipr_place_1. */
struct swipr_place {
  unsigned is_ready;
  char path[108];
};

/* dlsym() of libc. Weak: without it, as in static programs, the library is taken as absent. */
extern void* swipr_find_symbol(void* handle, const char* name) __asm__("dlsym")
    __attribute__((weak));

static inline struct swipr_place* swipr_find_place(void) {
  static struct swipr_place* place = NULL;
  static int was_searched = 0;
  if (__atomic_load_n(&was_searched, __ATOMIC_ACQUIRE) == 0) {
    void* found = swipr_find_symbol != NULL ? swipr_find_symbol(NULL, "swipr_place_1") : NULL;
    __atomic_store_n(&place, (struct swipr_place*)found, __ATOMIC_RELAXED);
    __atomic_store_n(&was_searched, 1, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(&place, __ATOMIC_RELAXED);
}

/* 1: the library is in this process. After the first call a load and a branch. */
static inline int swipr_is_present(void) { return swipr_find_place() != NULL; }

/* A connection to the library, which listens some milliseconds after the start of the program. */
static inline int swipr_connect(void) {
  struct swipr_place* place = swipr_find_place();
  struct sockaddr_un address;
  int waited_ms;
  int fd;
  if (place == NULL) {
    errno = ENOSYS;
    return -1;
  }
  for (waited_ms = 0; __atomic_load_n(&place->is_ready, __ATOMIC_ACQUIRE) == 0; ++waited_ms) {
    if (waited_ms == 2000) {
      errno = ENOTCONN;
      return -1;
    }
    poll(NULL, 0, 1);
  }
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, place->path, sizeof place->path);
  if (connect(fd, (struct sockaddr*)&address, sizeof address) != 0) {
    int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

/* A request without a connection that is kept. Returns the descriptor, to be read to its end. */
static inline int swipr_send_request(const char* method, const char* path, const char* body) {
  char request[4608];
  size_t sent = 0;
  int fd = -1;
  int size = snprintf(request, sizeof request,
                      "%s %s HTTP/1.0\r\n" /* the body ends with the connection */
                      "content-length: %zu\r\n\r\n%s",
                      method, path, strlen(body), body);
  if (size < 0 || (size_t)size >= sizeof request) {
    errno = ENAMETOOLONG;
    return -1;
  }
  fd = swipr_connect();
  while (fd >= 0 && sent < (size_t)size) {
    ssize_t count = send(fd, request + sent, (size_t)size - sent, MSG_NOSIGNAL);
    if (count > 0) sent += (size_t)count;
    if (count < 0 && errno != EINTR) {
      close(fd);
      return -1;
    }
  }
  return fd;
}

/* The status of an answer. What follows its head stays in `head`, `*head_size` bytes of which
 * `*body` is the beginning of the body. */
static inline int swipr_read_head(int fd, char* head, size_t capacity, size_t* head_size,
                                  size_t* body) {
  char* end = NULL;
  *head_size = 0;
  while (end == NULL && *head_size + 1 < capacity) {
    ssize_t count = read(fd, head + *head_size, capacity - 1 - *head_size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    *head_size += (size_t)count;
    head[*head_size] = '\0';
    end = strstr(head, "\r\n\r\n");
  }
  if (end == NULL || strncmp(head, "HTTP/1.1 ", 9) != 0) {
    errno = EPROTO;
    return -1;
  }
  *body = (size_t)(end - head) + 4;
  return atoi(head + 9);
}

/* 0 if the answer's status is 200. */
static inline int swipr_ask(const char* method, const char* path, const char* body) {
  char head[2048];
  size_t size = 0;
  size_t begin = 0;
  int status;
  int fd = swipr_send_request(method, path, body);
  if (fd < 0) return -1;
  status = swipr_read_head(fd, head, sizeof head, &size, &begin);
  close(fd);
  if (status == 200) return 0;
  if (status > 0) errno = status == 404 ? ENOENT : status == 400 ? EINVAL : EIO;
  return -1;
}

/* Writes `text` as a JSON string. 0 if there is room. */
static inline int swipr_quote(const char* text, char* out, size_t capacity) {
  size_t size = 0;
  out[size++] = '"';
  for (; *text != '\0'; ++text) {
    if (size + 8 > capacity) {
      errno = ENAMETOOLONG;
      return -1;
    }
    if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ') {
      size +=
          (size_t)snprintf(out + size, capacity - size, "\\u%04x", (unsigned)(unsigned char)*text);
    } else {
      out[size++] = *text;
    }
  }
  out[size++] = '"';
  out[size] = '\0';
  return 0;
}

/* What follows the head, into the file. 0: all of it. */
static inline int swipr_copy_body(int fd, char* buffer, size_t capacity, size_t size, size_t begin,
                                  FILE* file) {
  for (;;) {
    ssize_t count;
    if (fwrite(buffer + begin, 1, size - begin, file) != size - begin) return -1;
    do {
      count = read(fd, buffer, capacity);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) return count == 0 ? 0 : -1;
    begin = 0;
    size = (size_t)count;
  }
}

/* --- labels of threads
 *
 * A label is a key and a value, of the thread that sets it, until it sets another value or ends.
 * All samples of the thread have its labels, while it runs and while it waits. Context: any thread,
 * signal handlers too, from main() on. They keep errno, allocate nothing, and take no lock; a
 * thread's first label needs some system calls. They return 0, or -1: there is no library, or no
 * room (which recordings tell).
 *
 * Bounds: 8 labels of a thread at a time, keys of 1 to 63 bytes, 126 bytes of key and value
 * together; longer values are cut. Threads that exist at a time: 16,384.
 *
 * A program whose tasks change threads (goroutines, coroutines) has to set them after each change.
 */

/* The label that a key had before: written by swipr_label_begin, read by swipr_label_end. */
struct swipr_label_scope {
  unsigned char key_size; /* 0: swipr_label_end does nothing */
  unsigned char value_size;
  char text[126];
};

/* What the library has in the program's memory under the name swipr_labels_1. */
struct swipr_label_functions {
  int (*set_label)(const char* key, size_t key_size, const char* value, size_t value_size);
  int (*begin_scope)(struct swipr_label_scope* scope, const char* key, size_t key_size,
                     const char* value, size_t value_size);
  void (*end_scope)(const struct swipr_label_scope* scope);
};

/* Found before main(), because dlsym() must not be called in a signal handler. */
static const struct swipr_label_functions* swipr_labels = NULL;
__attribute__((constructor)) static void swipr_find_labels(void) {
  if (swipr_find_symbol == NULL) return;
  swipr_labels = (const struct swipr_label_functions*)swipr_find_symbol(NULL, "swipr_labels_1");
}

/* An empty value, or NULL, removes the label. */
static inline int swipr_set_label(const char* key, const char* value) {
  const struct swipr_label_functions* const found = swipr_labels;
  if (found == NULL) return -1;
  return found->set_label(key, strlen(key), value, value != NULL ? strlen(value) : 0);
}

/* Sets a label until swipr_label_end, which sets the one that this key had before. Both in the same
 * thread, and in reverse order. */
static inline int swipr_label_begin(struct swipr_label_scope* scope, const char* key,
                                    const char* value) {
  const struct swipr_label_functions* const found = swipr_labels;
  scope->key_size = 0;
  if (found == NULL) return -1;
  return found->begin_scope(scope, key, strlen(key), value, value != NULL ? strlen(value) : 0);
}
static inline void swipr_label_end(const struct swipr_label_scope* scope) {
  if (scope->key_size != 0) swipr_labels->end_scope(scope);
}

/* A named stretch of the thread's work: the label "span". Spans can be nested; samples have the
 * innermost. */
static inline int swipr_span_begin(struct swipr_label_scope* scope, const char* name) {
  return swipr_label_begin(scope, "span", name);
}
static inline void swipr_span_end(const struct swipr_label_scope* scope) { swipr_label_end(scope); }

/* --- recordings */

struct swipr_options {
  unsigned interval_us; /* between ticks; 0: 10,000 */
  const char* mode;     /* "wall" (NULL), "cpu" or "offcpu" */
  unsigned long ticks;  /* ends after so many; 0: with swipr_stop_recording() or the process */
};

/* Begins to record all threads into a file, which must not be relative; "{PID}" in it is the
 * process id. Only one such recording runs at a time. */
static inline int swipr_start_recording(const char* path, const struct swipr_options* options) {
  static const struct swipr_options standard = {0, NULL, 0};
  char quoted[3072];
  char body[4096];
  size_t size;
  if (options == NULL) options = &standard;
  if (!swipr_is_present()) {
    errno = ENOSYS;
    return -1;
  }
  if (swipr_quote(path, quoted, sizeof quoted) != 0) return -1;
  size =
      (size_t)snprintf(body, sizeof body, "{\"path\":%s,\"timeInterval\":\"%uus\",\"mode\":\"%s\"",
                       quoted, options->interval_us != 0 ? options->interval_us : 10000u,
                       options->mode != NULL ? options->mode : "wall");
  if (size >= sizeof body - 64) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (options->ticks != 0) {
    size += (size_t)snprintf(body + size, sizeof body - size, ",\"numberOfSamples\":%lu",
                             options->ticks);
  }
  snprintf(body + size, sizeof body - size, "}");
  return swipr_ask("POST", "/v1/file", body);
}

/* The same into an open file, which must be an empty regular one; it may have no name, as those of
 * memfd_create. The program may close it. */
static inline int swipr_start_recording_to(int fd, const struct swipr_options* options) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return swipr_start_recording(path, options);
}

/* Ends it; the file is complete when this returns. errno ENOENT: there is none. */
static inline int swipr_stop_recording(void) {
  if (!swipr_is_present()) {
    errno = ENOSYS;
    return -1;
  }
  return swipr_ask("DELETE", "/v1/file", "");
}

/* Records so many samples of each thread, waits for them and writes them into `path`, in the format
 * of its suffix: .swipr, .pb.gz (pprof), .collapsed, else as `perf script` prints it. All but the
 * first need the program swipr. */
static inline int swipr_request_samples(const char* path, unsigned count, unsigned interval_us) {
  static const char* const suffixes[3][2] = {
      {".swipr", "raw"}, {".pb.gz", "pprof"}, {".collapsed", "collapsed"}};
  const char* format = "perf";
  char buffer[8192];
  char body[160];
  size_t length = strlen(path);
  size_t size = 0;
  size_t begin = 0;
  FILE* file;
  int index;
  int fd;
  int failed;
  for (index = 0; index < 3; ++index) {
    size_t suffix = strlen(suffixes[index][0]);
    if (length > suffix && strcmp(path + length - suffix, suffixes[index][0]) == 0) {
      format = suffixes[index][1];
    }
  }
  snprintf(body, sizeof body,
           "{\"numberOfSamples\":%u,\"timeInterval\":\"%uus\",\"format\":\"%s\"}", count,
           interval_us, format);
  fd = swipr_send_request("POST", "/sample", body);
  if (fd < 0) return -1;
  index = swipr_read_head(fd, buffer, sizeof buffer, &size, &begin);
  file = index == 200 ? fopen(path, "wbe") : NULL;
  if (file == NULL) {
    if (index > 0 && index != 200) errno = EIO;
    close(fd);
    return -1;
  }
  failed = swipr_copy_body(fd, buffer, sizeof buffer, size, begin, file);
  close(fd);
  return fclose(file) != 0 || failed ? -1 : 0;
}

#ifdef __cplusplus
} /* extern "C" */

namespace swipr {

/* A label as long as it lives. */
class Label {
 public:
  Label(const char* key, const char* value) { swipr_label_begin(&scope_, key, value); }
  Label(const Label&) = delete;
  Label& operator=(const Label&) = delete;
  ~Label() { swipr_label_end(&scope_); }

 private:
  swipr_label_scope scope_;
};

/* A span as long as it lives. */
class Span : public Label {
 public:
  explicit Span(const char* name) : Label("span", name) {}
};

/* Records as long as it lives. */
class Recording {
 public:
  explicit Recording(const char* path, const swipr_options* options = nullptr)
      : is_running_(swipr_start_recording(path, options) == 0) {}
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() {
    if (is_running_) swipr_stop_recording();
  }
  bool is_running() const { return is_running_; }

 private:
  bool is_running_;
};

}  // namespace swipr
#endif

#endif
