/* A client that makes eight short writes a request, and waits for the answer: each request stalls. With its server, in
   one process, over loopback. Prints how long 50 requests took and how many segments they were; ends with 7. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REQUESTS = 50, WRITES = 8, EACH = 50, TCP_INFORMATION = 11, SEGMENTS_OUT = 136 };

static void *serve(void *listener) {
  int connection = accept(*(int *)listener, NULL, NULL);
  char octets[4096];
  ssize_t got, have = 0;
  while ((got = read(connection, octets, sizeof octets)) > 0)
    for (have += got; have >= WRITES * EACH; have -= WRITES * EACH)
      if (write(connection, "ok", 2) != 2)
        return NULL;
  close(connection);
  return NULL;
}

int main(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  bind(listener, (struct sockaddr *)&address, length);
  listen(listener, 1);
  getsockname(listener, (struct sockaddr *)&address, &length);
  pthread_t server;
  pthread_create(&server, NULL, serve, &listener);
  if (connect(client, (struct sockaddr *)&address, sizeof address) != 0)
    return 1;
  char octets[EACH];
  memset(octets, 'x', sizeof octets);
  struct timespec began, ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  for (int request = 0; request < REQUESTS; request++) {
    for (int nth = 0; nth < WRITES; nth++)
      if (write(client, octets, EACH) != EACH)
        return 1;
    if (read(client, octets, 2) < 1)
      return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &ended);
  char information[256] = {0};
  length = sizeof information;
  getsockopt(client, IPPROTO_TCP, TCP_INFORMATION, information, &length);
  unsigned segments;
  memcpy(&segments, information + SEGMENTS_OUT, sizeof segments);
  printf("%.0f ms %u segments\n", (ended.tv_sec - began.tv_sec) * 1e3 + (ended.tv_nsec - began.tv_nsec) / 1e6, segments);
  close(client);
  pthread_join(server, NULL);
  return 7;
}
