/*
 * Open-loop load over HTTP/1.1: requests leave at random moments of a fixed mean rate (exponential gaps, as of many
 * independent users), whether or not the earlier ones have been answered. The time of a request counts from the moment
 * it was due, also where it had to wait for a connection or for this process, so that no stall shortens it.
 *
 * Written in C because the generator shares a core with the upstream: one in Node added 0.8 ms of its own to the p99, and
 * sent in bursts, once a millisecond.
 *
 * Arguments: port, file with "METHOD PATH CREDENTIAL" lines, requests a second, number of requests, how many of the
 * first not to measure, connections. Two runs with the same arguments send the same requests at the same moments.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define GIVE_UP 5000000000LL
#define ANSWER_MAX 8192

typedef long long nanoseconds;

struct connection {
  int fd;
  long request; /* The number of the request under way. */
  size_t length;
  char answer[ANSWER_MAX];
};

static nanoseconds now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static char **requests;
static long request_count;

static void read_requests(const char *name) {
  FILE *file = fopen(name, "r");
  if (!file) fail(name);
  char method[16], path[1024], credential[4096];
  while (fscanf(file, "%15s %1023s %4095s", method, path, credential) == 3) {
    requests = realloc(requests, (request_count + 1) * sizeof *requests);
    if (asprintf(&requests[request_count++], "%s %s HTTP/1.1\r\nHost: bench.local\r\nAuthorization: Bearer %s\r\n\r\n",
                 method, path, credential) < 0) fail("asprintf");
  }
  fclose(file);
  if (request_count == 0) fail("no requests");
}

static int open_connection(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (connect(fd, (void *)&address, sizeof address)) fail("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

/* Responses here have a length or end with the last chunk. */
static int is_complete(const struct connection *c) {
  const char *head = strstr(c->answer, "\r\n\r\n");
  if (!head) return 0;
  const char *length = strcasestr(c->answer, "\r\ncontent-length:");
  if (!length || length > head) return strstr(head, "\r\n0\r\n\r\n") != NULL;
  return c->length >= head + 4 - c->answer + strtoul(length + 17, NULL, 10);
}

static int compare(const void *a, const void *b) {
  nanoseconds x = *(const nanoseconds *)a, y = *(const nanoseconds *)b;
  return (x > y) - (x < y);
}

/* Nearest rank, in milliseconds. */
static double percentile(const nanoseconds *sorted, long count, double share) {
  if (count == 0) return 0;
  long rank = (long)ceil(count * share) - 1;
  return sorted[rank < 0 ? 0 : rank] / 1e6;
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  int port = atoi(argv[1]), connections = atoi(argv[6]);
  double rate = atof(argv[3]);
  long count = atol(argv[4]), skip = atol(argv[5]);
  read_requests(argv[2]);
  /* By default the kernel may wake a sleeper 50 microseconds late. */
  prctl(PR_SET_TIMERSLACK, 1);

  nanoseconds *due = malloc(count * sizeof *due), *took = malloc(count * sizeof *took), *late = malloc(count * sizeof *late);
  struct connection *all = calloc(connections, sizeof *all), **idle = malloc(connections * sizeof *idle);
  int epoll = epoll_create1(0), idles = 0, first = 0;
  for (int i = 0; i < connections; i++) {
    all[i].fd = open_connection(port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
    epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &event);
    idle[idles++] = &all[i];
  }

  srand48(1);
  nanoseconds at = now();
  for (long i = 0; i < count; i++) due[i] = at += (nanoseconds)(-log(1 - drand48()) * 1e9 / rate);
  nanoseconds give_up = at + GIVE_UP;
  nanoseconds free_since = 0; /* The time since when there has always been an idle connection. */

  long sent = 0, answered = 0, measured = 0, lates = 0, failed = 0, refused = 0;
  while (answered < count && now() < give_up) {
    while (sent < count && idles > 0 && due[sent] <= now()) {
      /* The connection that was idle for longest is used, because a server closes a silent one. */
      struct connection *c = idle[first];
      first = (first + 1) % connections;
      idles--;
      const char *text = requests[sent % request_count];
      c->request = sent++;
      c->length = 0;
      nanoseconds possible = due[c->request] > free_since ? due[c->request] : free_since;
      if (c->request >= skip) late[lates++] = now() - possible;
      if (write(c->fd, text, strlen(text)) != (ssize_t)strlen(text)) fail("write");
    }
    /* Without an idle connection only a response helps. */
    nanoseconds wait = sent < count && idles > 0 ? due[sent] - now() : 10000000;
    if (wait < 0) wait = 0;
    struct timespec timeout = {wait / 1000000000, wait % 1000000000};
    struct epoll_event events[256];
    int ready = epoll_pwait2(epoll, events, 256, &timeout, NULL);
    for (int i = 0; i < ready; i++) {
      struct connection *c = events[i].data.ptr;
      ssize_t got = read(c->fd, c->answer + c->length, ANSWER_MAX - 1 - c->length);
      if (got <= 0) fail("a connection was closed, or an answer too long");
      c->length += got;
      c->answer[c->length] = 0;
      if (!is_complete(c)) continue;
      answered++;
      if (c->answer[9] != '2') failed++;
      if (!strncmp(c->answer + 9, "429", 3)) refused++;
      if (c->request >= skip) took[measured++] = now() - due[c->request];
      if (idles == 0) free_since = now();
      idle[(first + idles++) % connections] = c;
    }
  }

  qsort(took, measured, sizeof *took, compare);
  qsort(late, lates, sizeof *late, compare);
  printf("RESULT {\"requests\":%ld,\"failed\":%ld,\"refused\":%ld,\"p50\":%.4f,\"p90\":%.4f,\"p99\":%.4f,\"p999\":%.4f,\"late99\":%.4f}\n",
         measured, failed + count - answered, refused, percentile(took, measured, 0.5), percentile(took, measured, 0.9),
         percentile(took, measured, 0.99), percentile(took, measured, 0.999), percentile(late, lates, 0.99));
  return 0;
}
