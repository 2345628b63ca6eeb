// SPDX-License-Identifier: Apache-2.0
// What TCP moves between two hosts in both directions at once, for machines without iperf3:
// stream_floor ADDRESS PORT STREAMS SECONDS on one host, stream_floor listen ... on the other.
//
// STREAMS connections each way, a thread at each end of each, 128 KiB a call as iperf3 has it. The
// connecting end prints one JSON line with the bytes that came in and went out in SECONDS.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kBlock = 128 << 10, kTries = 100 };

static atomic_llong sent, received;

static void fail(const char* why) {
  perror(why);
  exit(1);
}

// Until the other end closes, or this one is shut down.
static void* send_all(void* socket) {
  char* block = calloc(1, kBlock);
  for (ssize_t n; (n = send((int)(size_t)socket, block, kBlock, MSG_NOSIGNAL)) > 0;) sent += n;
  return NULL;
}

static void* receive_all(void* socket) {
  char* block = malloc(kBlock);
  for (ssize_t n; (n = recv((int)(size_t)socket, block, kBlock, 0)) > 0;) received += n;
  return NULL;
}

static int connect_to(const struct sockaddr_in* address) {
  for (int i = 0; i < kTries; ++i) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr*)address, sizeof *address) == 0) return fd;
    close(fd);
    usleep(50000);  // the other end may still be starting
  }
  fail("connect");
  return -1;
}

static int listen_at(struct sockaddr_in* address, int streams) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  address->sin_addr.s_addr = INADDR_ANY;
  if (bind(fd, (struct sockaddr*)address, sizeof *address) || listen(fd, streams)) fail("listen");
  return fd;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  bool listens = !strcmp(argv[1], "listen");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
  int streams = 2 * atoi(argv[3]), listener = -1;
  if (listens)
    listener = listen_at(&address, streams);
  else
    inet_pton(AF_INET, argv[1], &address.sin_addr);
  pthread_t* threads = calloc(streams, sizeof *threads);
  int* sockets = calloc(streams, sizeof *sockets);
  for (int i = 0; i < streams; ++i) {
    sockets[i] = listens ? accept(listener, NULL, NULL) : connect_to(&address);
    if (sockets[i] < 0) fail("accept");
    bool sends = listens == (i % 2 == 0);
    pthread_create(&threads[i], NULL, sends ? send_all : receive_all, (void*)(size_t)sockets[i]);
  }
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  long long out = sent, in = received;
  if (!listens) {
    usleep((useconds_t)(atof(argv[4]) * 1e6));
    out = sent - out, in = received - in;
    clock_gettime(CLOCK_MONOTONIC, &end);
    for (int i = 0; i < streams; ++i) shutdown(sockets[i], SHUT_RDWR);
  }
  for (int i = 0; i < streams; ++i) pthread_join(threads[i], NULL);
  if (listens) return 0;
  double seconds = end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) * 1e-9;
  printf("{\"seconds\": %f, \"sent\": %lld, \"received\": %lld}\n", seconds, out, in);
  return 0;
}
