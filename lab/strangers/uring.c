// As writes.c, but each call is a request on an io_uring.
#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int ring;
static struct io_uring_sqe *entries;
static struct io_uring_cqe *results;
static unsigned *tail, *mask, *slots, *results_head, *results_mask;

static int set_up(void) {
    struct io_uring_params made = {0};
    ring = syscall(SYS_io_uring_setup, 4, &made);
    if (ring < 0 || !(made.features & IORING_FEAT_SINGLE_MMAP)) return -1;
    size_t length = made.cq_off.cqes + made.cq_entries * sizeof *results;
    size_t other = made.sq_off.array + made.sq_entries * sizeof(unsigned);
    char *at = mmap(0, length > other ? length : other, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    entries = mmap(0, made.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (at == MAP_FAILED || entries == MAP_FAILED) return -1;
    tail = (unsigned *)(at + made.sq_off.tail);
    mask = (unsigned *)(at + made.sq_off.ring_mask);
    slots = (unsigned *)(at + made.sq_off.array);
    results = (struct io_uring_cqe *)(at + made.cq_off.cqes);
    results_head = (unsigned *)(at + made.cq_off.head);
    results_mask = (unsigned *)(at + made.cq_off.ring_mask);
    return 0;
}

static int does(int what, int end, void *octets, unsigned length, unsigned flags) {
    unsigned slot = *tail & *mask;
    memset(&entries[slot], 0, sizeof entries[slot]);
    entries[slot].opcode = what;
    entries[slot].fd = end;
    entries[slot].addr = (uintptr_t)octets;
    entries[slot].len = length;
    entries[slot].msg_flags = flags;
    slots[slot] = slot;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) != 1) return -1;
    int result = results[*results_head & *results_mask].res;
    __atomic_store_n(results_head, *results_head + 1, __ATOMIC_RELEASE);
    return result;
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(int count, char **words) {
    int end = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    if (connect(end, (struct sockaddr *)&to, sizeof to) || set_up()) return 1;
    if (count > 2) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    char head[40] = {0}, body[400] = {0}, answer[2];
    for (int i = 0; i < 20; i++) {
        double began = now_ms();
        if (does(IORING_OP_SEND, end, head, sizeof head, 0) < 0) return 1;
        if (does(IORING_OP_SEND, end, body, sizeof body, 0) < 0) return 1;
        if (does(IORING_OP_RECV, end, answer, sizeof answer, MSG_WAITALL) != sizeof answer) return 1;
        printf("%.3f\n", now_ms() - began);
    }
    return 0;
}
