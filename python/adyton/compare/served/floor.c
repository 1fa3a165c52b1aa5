/* The floor: the cheapest HTTP/1.1 responder that one epoll thread can be.
 *
 * It looks for the blank line that ends a request head, checks nothing else, and
 * answers with a constant.  Its cost per request is the cost of the kernel's loopback
 * TCP: one recv, one send, and a share of one epoll_wait.  A real server's cost
 * divided by this one is its distance from the physical limit, and that ratio holds
 * when the machine's speed drifts.
 *
 * With `close` after the port, it announces a close in the first answer and closes the
 * connection: the floor of one new connection per request (accept, recv, send, close).
 *
 * Build and run:  cc -O2 -o floor floor.c && ./floor 8020 [close]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD "HTTP/1.1 200 OK\r\nServer: floor\r\nDate: Fri, 20 Nov 2026 10:00:00 GMT\r\n" \
             "Content-Type: text/plain\r\nContent-Length: 12\r\n"
static const char KEEPING[] = HEAD "\r\nHello World!", CLOSING[] = HEAD "Connection: close\r\n\r\nHello World!";
enum { EVENTS_MAX = 256, BUFFER_BYTES = 65536 };

static int closes;

static void watch(int epoll, int fd, unsigned events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void answer(int fd) {
    static char in[BUFFER_BYTES], out[BUFFER_BYTES];
    ssize_t got = recv(fd, in, sizeof in, 0);
    if (got <= 0) { close(fd); return; }
    const char *text = closes ? CLOSING : KEEPING;
    size_t length = (closes ? sizeof CLOSING : sizeof KEEPING) - 1, filled = 0;
    for (char *at = in; (at = memmem(at, (size_t)(in + got - at), "\r\n\r\n", 4)); at += 4) {
        if (filled + length > sizeof out) break;
        memcpy(out + filled, text, length);
        filled += length;
    }
    send(fd, out, filled, MSG_NOSIGNAL);
    if (closes) close(fd);
}

int main(int argc, char **argv) {
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(argc > 1 ? atoi(argv[1]) : 8020),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    closes = argc > 2 && !strcmp(argv[2], "close");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 4096)) { perror("floor"); return 1; }
    int epoll = epoll_create1(0);
    watch(epoll, listener, EPOLLIN);
    for (struct epoll_event events[EVENTS_MAX];;) {
        int ready = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd != listener) { answer(events[i].data.fd); continue; }
            for (int fd; (fd = accept4(listener, 0, 0, SOCK_NONBLOCK)) >= 0; watch(epoll, fd, EPOLLIN | EPOLLET))
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
    }
}
