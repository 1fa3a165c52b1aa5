/* The load for the benchmarks of threads: loops, arrivals, slow uploads and slow readers, with every answer checked.
 *
 * One epoll thread asks a server on the loopback interface; nothing is believed: status, Content-Length and
 * each byte of a body are compared with what was to be expected, and what was wrong is counted apart from what
 * was right.  A run connects, warms up, counts for a while (the window), and ends; each step has its limit.
 *
 *     load port=N secs=S [warm=S] [grace=S] [tick=S] [seed=N] [awake=1] [cpu=PID,PID...] NAME:key=value,key=value...
 *
 * What follows the settings are groups of connections, all with path= and body= (a file: what the body must be):
 *
 *     kind=closed  `connections` ask again as soon as they are answered.  With `window`, only so many requests are
 *                  under way, and all connections take turns.  With `close=1` each request has a connection
 *                  of its own.  `active` is a row of 0 and 1, one for each second
 *                  of the window, over and over: in a second with 0 the group does not ask.
 *     kind=open    Requests arrive as `rates` says (SECONDS*RATE+SECONDS*RATE...), answered or not, at random
 *                  (Poisson), each on a free connection or on a new one, of which there are `connections` at the
 *                  most.  The client gives up after `deadline` seconds.  Waiting counts from the arrival.
 *     kind=upload  Each connection begins a POST of `bytes` and sends one byte a second; the rest at the end.
 *     kind=read    Each connection takes `bytes` a second of its answer, and goes away at the end.
 *
 * With `ramp`, the connections of a group come one after the other in the first seconds of the window, so many;
 * otherwise they are there before it.
 *
 * With awake=1 the thread never sleeps: a CPU of a virtual machine that idles takes up to 0.1 ms to wake.
 *
 * With cpu=, the CPU time of these processes in the window is counted too.  Prints one JSON object; exit status 1
 * only if it could not work: whether the answers were good enough is for the reader of the JSON to say.
 *
 * Build and run:  cc -O2 -o load load.c -lm && ./load port=8000 secs=3 hello:path=/,body=hello.txt,connections=64
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    GROUPS_MAX = 8,
    PIECES_MAX = 16,          /* of a schedule of rates */
    CONNECTIONS_MAX = 50000,  /* of a group */
    CPU_MAX = 512,            /* processes whose time is counted */
    TICKS_MAX = 10000,
    EVENTS_MAX = 512,
    CONNECTING_MAX = 128,     /* at once before the window: far fewer than any backlog */
    FAILURES_MAX = 1000,      /* connections that a group loses before it stops opening new ones */
    BUFFER_BYTES = 1 << 17,
    HEAD_BYTES_MAX = 8192,
    REQUEST_BYTES_MAX = 512,
    /* As on an Ethernet: with the 64 KiB segments of the loopback the kernel would take megabytes for a reader. */
    READER_SEGMENT_BYTES = 1448,
};
static const double SETUP_S = 20.0; /* for all connections to be open */
static const double FINISH_S = 2.0; /* in which uploads end, one after the other: at once they would be an overload */
typedef int64_t ns;
static const ns SECOND = 1000000000, NEVER = INT64_MAX;

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

static void *zeroed(size_t count, size_t bytes) {
    void *memory = calloc(count, bytes);
    if (!memory) die("no memory");
    return memory;
}

static ns clock_ns(clockid_t clock) {
    struct timespec time;
    return clock_gettime(clock, &time) ? 0 : time.tv_sec * SECOND + time.tv_nsec;
}
static ns now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* Latencies, in buckets of less than one per cent: 128 for each power of two of microseconds. */
enum { SUB_BITS = 7, SUB = 1 << SUB_BITS, BUCKETS = SUB * 26 };
struct histogram {
    uint32_t counts[BUCKETS];
    uint64_t total;
    ns max;
    double sum;
};

static void note(struct histogram *h, ns value) {
    uint64_t us = value > 0 ? (uint64_t)value / 1000 : 0;
    int shift = us < SUB ? 0 : 63 - __builtin_clzll(us) - SUB_BITS;
    uint64_t bucket = ((uint64_t)shift << SUB_BITS) + (us >> shift);
    h->counts[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    h->total++;
    h->sum += (double)value;
    if (value > h->max) h->max = value;
}

/* The smallest latency that `share` of all do not exceed, in milliseconds, to the upper end of its bucket. */
static double quantile_ms(const struct histogram *h, double share) {
    uint64_t wanted = (uint64_t)ceil(share * (double)h->total), seen = 0;
    for (int bucket = 0; bucket < BUCKETS && wanted; bucket++) {
        seen += h->counts[bucket];
        if (seen < wanted) continue;
        int shift = bucket < 2 * SUB ? 0 : (bucket >> SUB_BITS) - 1;
        double top = (double)(((uint64_t)(bucket - (shift << SUB_BITS)) + 1) << shift) / 1e3;
        double max = (double)h->max / 1e6;
        return top < max ? top : max;
    }
    return 0.0;
}

enum kind { CLOSED, OPEN, UPLOAD, READ };
static const char *const KINDS[] = {"closed", "open", "upload", "read"};
enum state { GONE, CONNECTING, IDLE, BUSY };
enum chunk { NO_CHUNKS, SIZE, DATA, TRAILER, ENDED };

struct group;
/* A connection is in one of its group's lists: of those that are gone, idle, or under way with a request. */
struct connection {
    struct connection *before, *after;
    struct group *group;
    int fd;
    enum state state;
    bool in_body, closes, retry_after, differs, asked; /* `asked`: the request has been sent */
    int status;
    int64_t left;        /* of the body, or of a chunk; -1: until the connection ends */
    enum chunk chunk;
    size_t line_length;  /* of what stands between chunks and behind them */
    size_t at;           /* bytes of the body that have come */
    size_t sent;         /* bytes of an upload's body */
    ns due;              /* when the request was to be sent */
    unsigned answers;
    char *head;          /* a head that has come in part */
    size_t head_length;
};

/* What happened in one tick of the window. */
struct tick { unsigned sent, ok, refused, bad; double p50_ms, p99_ms, max_ms; };

struct group {
    char name[32];
    enum kind kind;
    char path[128];
    char *body;          /* to be expected */
    size_t body_length;
    int connections, window;
    bool closing;        /* each request has a connection of its own */
    int64_t bytes;       /* of an upload; of a reader in a second */
    char active[64];
    double deadline_s, ramp_s;
    struct { double secs, rate; } pieces[PIECES_MAX];
    int piece_count;

    char request[REQUEST_BYTES_MAX];
    size_t request_length;
    struct connection *all, gone, idle, busy;
    int under_way, opened, failures;
    ns next_arrival, piece_end, next_trickle, next_opening;
    int piece, trickle_at, opening_at;

    /* Requests that were due in the window, and what became of them. */
    uint64_t sent, ok, refused, with_retry_after, timeouts, unanswered;
    uint64_t done;       /* right answers that came within the window */
    uint64_t wrong, resets, unconnected, exhausted; /* at any time */
    uint64_t body_bytes, readers_served;
    char example[160];   /* of what was wrong first */
    ns late_max;         /* how late this program was in sending what had arrived */
    struct histogram latency, refusal, now;
    struct tick *ticks;
};

static struct {
    int port, epoll, awake;
    double secs, warm_s, grace_s, tick_s;
    uint64_t random;
    clockid_t cpu[CPU_MAX];
    int cpu_count;
    struct group groups[GROUPS_MAX];
    int group_count;
    ns start, end;       /* of the window; NEVER before it is known */
    ns tick_end;
    int tick, tick_count, connecting;
    bool asking, ending;
    ns cpu_ns, own_ns, taken_ns;
} run = {.secs = 3, .warm_s = 0.5, .grace_s = 5, .tick_s = 1, .random = 1, .start = INT64_MAX, .end = INT64_MAX,
         .tick_end = INT64_MAX};

#define EACH_GROUP(g) for (struct group *g = run.groups; g < run.groups + run.group_count; g++)

/* Lists: rings with a head that holds nothing. */
static void list_init(struct connection *list) { list->before = list->after = list; }
static bool is_empty(const struct connection *list) { return list->after == list; }
static void unlink_it(struct connection *c) {
    c->before->after = c->after;
    c->after->before = c->before;
}
static void move_behind(struct connection *c, struct connection *place) {
    unlink_it(c);
    c->before = place;
    c->after = place->after;
    place->after->before = c;
    place->after = c;
}
static void move_last(struct connection *c, struct connection *list) { move_behind(c, list->before); }

/* Whether a request belongs to the window: if it was due in it, for a loop also if it was still waiting then. */
static bool counts(const struct connection *c) {
    switch (c->group->kind) {
    case CLOSED: return run.start != NEVER && c->due < run.end;
    case OPEN: return c->due >= run.start && c->due < run.end;
    default: return true;
    }
}

static struct tick *tick_of(struct group *g, ns now) {
    return now >= run.start && now < run.end && run.tick < run.tick_count ? &g->ticks[run.tick] : NULL;
}

static void bad(struct connection *c, uint64_t *counter, const char *format, ...) {
    struct group *g = c->group;
    ++*counter;
    struct tick *tick = tick_of(g, now_ns());
    if (tick) tick->bad++;
    if (*g->example) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(g->example, sizeof g->example, format, arguments);
    va_end(arguments);
}

/* ---- Connections ---- */

static void ask(struct connection *c, ns due);
static void ask_more(struct group *g);

static void drop(struct connection *c) {
    if (c->state == CONNECTING) run.connecting--;
    if (c->state == BUSY || (c->state == CONNECTING && c->group->kind == OPEN)) c->group->under_way--;
    close(c->fd);
    c->state = GONE;
    c->asked = false;
    c->head_length = 0;
    move_last(c, &c->group->gone);
}

static void open_connection(struct connection *c) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)run.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, segment = READER_SEGMENT_BYTES;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) die("socket: %s", strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (c->group->kind == READ) setsockopt(c->fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    c->state = CONNECTING;
    run.connecting++;
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS) {
        bad(c, &c->group->unconnected, "connect: %s", strerror(errno));
        c->group->failures++;
        drop(c);
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
    if (epoll_ctl(run.epoll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl: %s", strerror(errno));
}

static bool is_active(const struct group *g, ns now) {
    if (run.ending || !run.asking) return false;
    size_t length = strlen(g->active);
    if (!length) return true;
    return g->active[now < run.start ? 0 : (size_t)((now - run.start) / SECOND) % length] == '1';
}

/* Opens again what a group of loops has lost, as long as that is not hopeless. */
static void reopen(struct connection *c) {
    if (c->group->kind == CLOSED && !run.ending && c->group->failures < FAILURES_MAX) open_connection(c);
}

/* Of a connection on which something came that cannot be understood, nothing more is read. */
static void abandon(struct connection *c, const char *why) {
    bad(c, &c->group->wrong, "%s", why);
    c->group->failures++;
    drop(c);
    reopen(c);
}

static void lost(struct connection *c) {
    struct group *g = c->group;
    if (c->state == CONNECTING) {
        bad(c, &g->unconnected, "a connection was refused");
        g->failures++;
    } else if (c->state == BUSY && c->asked) {
        bad(c, &g->resets, "closed %s an answer", c->in_body || c->head_length ? "within" : "before");
        g->failures++;
    }
    drop(c);
    reopen(c);
}

/* Sends all of something small: a socket that has nothing to send takes it. */
static bool send_all(struct connection *c, const char *data, size_t length) {
    if (send(c->fd, data, length, MSG_NOSIGNAL) == (ssize_t)length) return true;
    lost(c);
    return false;
}

static void connected(struct connection *c) {
    struct group *g = c->group;
    run.connecting--;
    g->opened++;
    if (g->kind == OPEN) {
        g->under_way--;  /* `ask` counts it again. */
        ask(c, c->due);
        return;
    }
    c->state = IDLE;
    move_last(c, &g->idle);
    if (g->kind == CLOSED) ask_more(g);
    else ask(c, now_ns());
}

/* ---- Requests ---- */

/* Sends a request that was due at `due`; the connection is idle, or has just been made for it. */
static void ask(struct connection *c, ns due) {
    struct group *g = c->group;
    c->state = BUSY;
    c->due = due;
    c->in_body = c->closes = c->retry_after = c->differs = false;
    c->status = 0;
    c->at = c->sent = 0;
    c->asked = true;
    g->under_way++;
    if (g->kind != OPEN) {
        move_last(c, &g->busy);
        ns now = g->kind == CLOSED ? due : now_ns();
        struct tick *tick = tick_of(g, now);
        if (tick) tick->sent++;
        g->sent += counts(c);
    }
    send_all(c, g->request, g->request_length);
}

/* Lets a closed loop ask on: those that have been idle longest first, so that all have their turn. */
static void ask_more(struct group *g) {
    ns now = now_ns();
    if (!is_active(g, now)) return;
    while (g->under_way < g->window && !is_empty(&g->idle)) ask(g->idle.after, now);
}

/* A request of an open loop has arrived: on the connection that was used last, or on a new one. */
static void arrive(struct group *g, ns due) {
    struct connection *c;
    ns now = now_ns();
    struct tick *tick = tick_of(g, now);
    if (tick) tick->sent++;
    g->sent++;
    if (now - due > g->late_max) g->late_max = now - due;
    if (is_empty(&g->idle) && is_empty(&g->gone)) {
        g->exhausted++;
        return;
    }
    c = is_empty(&g->idle) ? g->gone.after : g->idle.after;
    move_last(c, &g->busy);
    c->due = due;
    if (c->state == IDLE) {
        ask(c, due);
    } else {
        g->under_way++;
        open_connection(c);
    }
}

/* A number above 0 and at most 1 (splitmix64), the same ones for the same seed. */
static double random_share(void) {
    uint64_t z = run.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)(((z ^ (z >> 31)) >> 11) + 1) / 9007199254740992.0;
}

static void schedule_arrival(struct group *g, ns from) {
    for (;;) {
        double rate = g->pieces[g->piece].rate;
        ns next = rate > 0 ? from + (ns)(-log(random_share()) / rate * 1e9) : NEVER;
        if (next < g->piece_end || g->piece + 1 == g->piece_count) {
            g->next_arrival = next < run.end ? next : NEVER;
            return;
        }
        /* Arrivals have no memory, so the next rate may begin afresh where its time begins. */
        from = g->piece_end;
        g->piece_end += (ns)(g->pieces[++g->piece].secs * 1e9);
    }
}

/* ---- Answers ---- */

static void done_with(struct connection *c) {
    struct group *g = c->group;
    g->under_way--;
    c->asked = false;
    c->state = IDLE;
    c->head_length = 0;
    if (c->closes || c->left < 0 || run.ending) {
        drop(c);
        reopen(c);
        return;
    }
    /* An open loop takes the connection that was used last, a closed one that which waits longest. */
    if (g->kind == OPEN) move_behind(c, &g->idle);
    else move_last(c, &g->idle);
    if (g->kind == CLOSED) ask_more(g);
}

static void answered(struct connection *c) {
    struct group *g = c->group;
    ns now = now_ns(), waited = now - c->due;
    struct tick *tick = tick_of(g, now);
    if (g->kind == OPEN && waited > (ns)(g->deadline_s * 1e9)) {
        bad(c, &g->timeouts, "no answer within the deadline");
    } else if (c->status == 503) {
        g->refused += counts(c);
        g->with_retry_after += c->retry_after && counts(c);
        note(&g->refusal, waited);
        if (tick) tick->refused++;
    } else if (c->status != 200) {
        bad(c, &g->wrong, "status %d", c->status);
    } else if (c->differs || c->at != g->body_length) {
        bad(c, &g->wrong, "a body of %zu bytes is not what was to be expected", c->at);
    } else if (g->kind == UPLOAD && (int64_t)c->sent != g->bytes) {
        bad(c, &g->wrong, "an upload was answered before its end");
    } else {
        if (counts(c)) {
            g->ok++;
            note(&g->latency, waited);
        }
        if (tick) {
            tick->ok++;
            g->done++;
            c->answers++;
            note(&g->now, waited);
        }
    }
    done_with(c);
}

static bool is_field(const char *line, size_t length, const char *name) {
    size_t wanted = strlen(name);
    return length > wanted && line[wanted] == ':' && !strncasecmp(line, name, wanted);
}

static bool says_close(const char *value) { return !strncasecmp(value + strspn(value, " "), "close", 5); }

/* Takes a head apart that ends with its blank line; false if it is none of HTTP/1. */
static bool read_head(struct connection *c, const char *head, size_t length) {
    if (length < 16 || strncmp(head, "HTTP/1.", 7) || head[8] != ' ') return false;
    c->status = atoi(head + 9);
    c->left = -1;
    c->chunk = NO_CHUNKS;
    c->line_length = 0;
    const char *end = head + length, *line = memchr(head, '\n', length);
    while (line && ++line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t rest = (size_t)((stop ? stop : end) - line);
        if (is_field(line, rest, "content-length")) c->left = atoll(line + 15);
        else if (is_field(line, rest, "transfer-encoding")) c->chunk = SIZE;
        else if (is_field(line, rest, "retry-after")) c->retry_after = true;
        else if (is_field(line, rest, "connection")) c->closes |= says_close(line + 11);
        line = stop;
    }
    if (c->chunk) c->left = 0;
    return true;
}

/* Takes bytes of a head; returns how many were used, and 0 if the connection is done for. */
static size_t feed_head(struct connection *c, const char *data, size_t length) {
    size_t before = c->head_length;
    const char *head = data, *end;
    if (before) {
        size_t room = HEAD_BYTES_MAX - before;
        memcpy(c->head + before, data, length < room ? length : room);
        head = c->head;
    }
    size_t known = before + length < HEAD_BYTES_MAX ? before + length : HEAD_BYTES_MAX;
    end = memmem(head, known, "\r\n\r\n", 4);
    if (!end && before + length >= HEAD_BYTES_MAX) {
        abandon(c, "a head without an end");
        return 0;
    }
    if (!end) {
        if (!c->head) c->head = zeroed(1, HEAD_BYTES_MAX);
        if (!before) memcpy(c->head, data, length);
        c->head_length += length;
        return length;
    }
    size_t whole = (size_t)(end - head) + 4;
    bool good = read_head(c, head, whole);
    if (!good || (c->left < 0 && c->status == 200)) {
        abandon(c, good ? "an answer without a length" : "an answer that is not HTTP");
        return 0;
    }
    c->in_body = true;
    c->head_length = 0;
    return whole - before;
}

static void feed_body(struct connection *c, const char *data, size_t length) {
    struct group *g = c->group;
    if (c->status == 200) {
        bool fits = c->at + length <= g->body_length;
        c->differs |= !fits || memcmp(data, g->body + c->at, length);
        g->readers_served += g->kind == READ && !c->at && length;
        g->body_bytes += length;
    }
    c->at += length;
    c->left -= (int64_t)length;
}

/* Takes bytes of a chunked body (RFC 9112 section 7.1); returns how many were used, all unless it ends before. */
static size_t feed_chunks(struct connection *c, const char *data, size_t length) {
    size_t used = 0;
    while (used < length && c->chunk != ENDED) {
        if (c->chunk == DATA && c->left) {
            size_t taken = length - used < (uint64_t)c->left ? length - used : (size_t)c->left;
            feed_body(c, data + used, taken);
            used += taken;
            continue;
        }
        char byte = data[used++];
        if (c->chunk == SIZE && isxdigit((unsigned char)byte)) {
            c->left = c->left * 16 + (isdigit((unsigned char)byte) ? byte - '0' : (byte | 32) - 'a' + 10);
            if (c->left > INT32_MAX) c->left = 0; /* Nonsense ends the body, which is then too short. */
        } else if (byte != '\n') {
            c->line_length += byte != '\r';
        } else if (c->chunk == SIZE) {
            c->chunk = c->left ? DATA : TRAILER;
            c->line_length = 0;
        } else if (c->chunk == DATA) {
            c->chunk = SIZE;
        } else {
            if (!c->line_length) c->chunk = ENDED;
            c->line_length = 0;
        }
    }
    return used;
}

/* Takes bytes of a body; returns how many were used, and in `whole` whether that was all. */
static size_t feed_whole(struct connection *c, const char *data, size_t length, bool *whole) {
    if (c->chunk) {
        size_t used = feed_chunks(c, data, length);
        *whole = c->chunk == ENDED;
        return used;
    }
    if (c->left < 0) { /* Its end is the connection's; what it says is known by now. */
        *whole = true;
        return length;
    }
    size_t used = length < (uint64_t)c->left ? length : (size_t)c->left;
    feed_body(c, data, used);
    *whole = !c->left;
    return used;
}

/* Takes what has come on a connection. */
static void feed(struct connection *c, const char *data, size_t length) {
    bool whole = false;
    while (c->state == BUSY && !whole && (length || (c->in_body && !c->chunk && c->left <= 0))) {
        size_t used = c->in_body ? feed_whole(c, data, length, &whole) : feed_head(c, data, length);
        data += used;
        length -= used;
    }
    if (c->state != BUSY && c->state != IDLE) return;
    if (length && (whole || c->state == IDLE)) { /* Said now: the next request makes them look like its answer. */
        abandon(c, "more bytes than were asked for");
    } else if (whole) {
        answered(c);
    }
}

/* Receives up to `most` bytes in one go; false when there is nothing, or the connection is gone. */
static bool receive(struct connection *c, size_t most) {
    static char buffer[BUFFER_BYTES];
    ssize_t got = recv(c->fd, buffer, most < BUFFER_BYTES ? most : BUFFER_BYTES, 0);
    if (got > 0) feed(c, buffer, (size_t)got);
    else if (!got || (errno != EAGAIN && errno != EINTR)) lost(c);
    return got == BUFFER_BYTES;
}

static void on_event(struct connection *c, unsigned events) {
    bool over = events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP);
    if (c->state == CONNECTING) {
        if (events & (EPOLLHUP | EPOLLERR)) lost(c);
        else if (events & EPOLLOUT) connected(c);
    }
    if (c->group->kind == READ && !(events & EPOLLERR)) return; /* It reads when its time has come. */
    int fd = c->fd;
    c->closes |= over && c->state == BUSY; /* Even if its answer is still to be read. */
    if (events & EPOLLIN || over)
        while (c->state >= IDLE && c->fd == fd && (receive(c, BUFFER_BYTES) || over)) {}
}

/* ---- What the clock brings ---- */

static void finish_upload(struct connection *c) {
    size_t rest = (size_t)(c->group->bytes - (int64_t)c->sent);
    char *text = memset(zeroed(1, rest + 1), 'x', rest);
    c->sent += rest;
    send_all(c, text, rest);
    free(text);
}

/* Whether slow clients still have their turns; at the end those that upload have one more. */
static bool is_trickling(const struct group *g) {
    if (g->kind < UPLOAD) return false;
    return !run.ending || (g->kind == UPLOAD && g->trickle_at < g->connections);
}

/* One slow client has its turn: a byte of its upload, or its bytes of an answer. */
static void trickle(struct group *g) {
    struct connection *c = &g->all[g->trickle_at++ % g->connections];
    g->next_trickle += (run.ending ? (ns)(FINISH_S * 1e9) : SECOND) / g->connections;
    if (c->state != BUSY) return;
    if (g->kind == READ) {
        receive(c, (size_t)g->bytes);
    } else if (run.ending) {
        finish_upload(c);
    } else if ((int64_t)c->sent + 1 < g->bytes) { /* The last byte is for the end. */
        c->sent++;
        send_all(c, "x", 1);
    }
}

static void give_up(struct group *g, ns now) {
    ns patience = (ns)(g->deadline_s * 1e9);
    while (!is_empty(&g->busy) && g->busy.after->due + patience < now) {
        struct connection *c = g->busy.after;
        bad(c, &g->timeouts, "no answer within the deadline");
        drop(c);
    }
}

static void end_tick(void) {
    EACH_GROUP(g) {
        struct tick *tick = &g->ticks[run.tick];
        tick->p50_ms = quantile_ms(&g->now, 0.5);
        tick->p99_ms = quantile_ms(&g->now, 0.99);
        tick->max_ms = (double)g->now.max / 1e6;
        memset(&g->now, 0, sizeof g->now);
    }
    run.tick++;
    run.tick_end += (ns)(run.tick_s * 1e9);
}

static void on_clock(ns now) {
    while (run.tick < run.tick_count && now >= run.tick_end) end_tick();
    EACH_GROUP(g) {
        if (g->kind == CLOSED) {
            if (*g->active) ask_more(g);
            continue;
        }
        if (g->kind == OPEN) give_up(g, now);
        while (g->kind == OPEN && g->next_arrival <= now) {
            ns due = g->next_arrival;
            schedule_arrival(g, due);
            arrive(g, due);
        }
        while (is_trickling(g) && g->next_trickle <= now) trickle(g);
    }
    EACH_GROUP(g) {
        while (g->next_opening <= now) {
            open_connection(&g->all[g->opening_at++]);
            bool all = g->opening_at == g->connections;
            g->next_opening = all ? NEVER : g->next_opening + (ns)(g->ramp_s * 1e9) / g->connections;
        }
    }
}

static ns next_of(const struct group *g, ns now) {
    ns next = NEVER;
    if (g->kind == CLOSED && *g->active && now >= run.start && now < run.end)
        next = run.start + ((now - run.start) / SECOND + 1) * SECOND;
    if (g->kind == OPEN) {
        next = g->next_arrival;
        if (!is_empty(&g->busy)) {
            ns patience = g->busy.after->due + (ns)(g->deadline_s * 1e9) + 1;
            if (patience < next) next = patience;
        }
    }
    if (is_trickling(g)) next = g->next_trickle;
    return g->next_opening < next ? g->next_opening : next;
}

/* Waits for events, at most until `until`, and does what has come due. */
static void turn(ns until) {
    struct epoll_event events[EVENTS_MAX];
    ns now = now_ns(), next = until;
    if (run.tick < run.tick_count && run.tick_end < next) next = run.tick_end;
    EACH_GROUP(g) {
        ns theirs = next_of(g, now);
        if (theirs < next) next = theirs;
    }
    ns wait = next > now && !run.awake ? next - now : 0;
    struct timespec patience = {.tv_sec = wait / SECOND, .tv_nsec = wait % SECOND};
    int ready = epoll_pwait2(run.epoll, events, EVENTS_MAX, &patience, NULL);
    if (ready < 0 && errno != EINTR) die("epoll_pwait2: %s", strerror(errno));
    for (int i = 0; i < ready; i++) on_event(events[i].data.ptr, events[i].events);
    on_clock(now_ns());
}

/* ---- The course of a run ---- */

static ns cpu_of_all(void) {
    ns sum = 0;
    for (int i = 0; i < run.cpu_count; i++) sum += clock_ns(run.cpu[i]);
    return sum;
}

/* Whether a group has its connections before the window. */
static bool is_early(const struct group *g) { return g->kind != OPEN && !g->ramp_s; }

/* Opens the connections that are to be there before the window, some at a time. */
static void set_up(void) {
    ns limit = now_ns() + (ns)(SETUP_S * 1e9);
    EACH_GROUP(g) {
        for (int i = 0; is_early(g) && i < g->connections; i++) {
            while (run.connecting >= CONNECTING_MAX && now_ns() < limit) turn(limit);
            open_connection(&g->all[i]);
        }
    }
    while (run.connecting && now_ns() < limit) turn(limit);
    EACH_GROUP(g) {
        for (int i = 0; is_early(g) && i < g->connections; i++) {
            struct connection *c = &g->all[i];
            if (c->state != CONNECTING) continue;
            bad(c, &g->unconnected, "a connection was not accepted in %.0f s", SETUP_S);
            drop(c);
        }
    }
}

static void begin_window(void) {
    run.start = now_ns();
    run.end = run.start + (ns)(run.secs * 1e9);
    run.tick = 0;
    run.tick_end = run.start + (ns)(run.tick_s * 1e9);
    EACH_GROUP(g) {
        memset(&g->now, 0, sizeof g->now);
        if (g->ramp_s > 0) g->next_opening = run.start;
        if (g->kind != OPEN) continue;
        g->piece_end = run.start + (ns)(g->pieces[0].secs * 1e9);
        schedule_arrival(g, run.start);
    }
    run.cpu_ns = cpu_of_all();
    run.own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void end_window(void) {
    run.cpu_ns = cpu_of_all() - run.cpu_ns;
    run.own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - run.own_ns;
    run.taken_ns = now_ns() - run.start;
    run.ending = true;
    while (run.tick < run.tick_count) end_tick();
    EACH_GROUP(g) {
        g->next_arrival = g->next_opening = NEVER;
        if (g->kind == READ)
            while (!is_empty(&g->busy)) drop(g->busy.after);
    }
    /* Uploads end when the readers have gone: a server may have kept all its threads for them. */
    EACH_GROUP(g) {
        g->trickle_at = 0;
        g->next_trickle = now_ns();
    }
}

/* What nobody has answered has waited at least so long: left out, it would make the others look good. */
static void count_unanswered(void) {
    ns now = now_ns();
    EACH_GROUP(g) {
        for (struct connection *c = g->busy.after; c != &g->busy; c = c->after) {
            if (!counts(c)) continue;
            g->unanswered++;
            note(&g->latency, now - c->due);
        }
    }
}

static int under_way(void) {
    int sum = 0;
    EACH_GROUP(g) sum += g->under_way;
    return sum;
}

static void drive(void) {
    set_up();
    run.asking = true;
    EACH_GROUP(g) if (g->kind == CLOSED) ask_more(g);
    for (ns until = now_ns() + (ns)(run.warm_s * 1e9); now_ns() < until;) turn(until);
    begin_window();
    while (now_ns() < run.end) turn(run.end);
    end_window();
    for (ns until = now_ns() + (ns)(run.grace_s * 1e9); under_way() && now_ns() < until;) turn(until);
    count_unanswered();
}

/* ---- The command line ---- */

static void read_body(struct group *g, const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about)) die("%s: %s", path, strerror(errno));
    g->body_length = (size_t)about.st_size;
    g->body = zeroed(1, g->body_length + 1);
    if (fread(g->body, 1, g->body_length, file) != g->body_length) die("%s: cannot be read", path);
    fclose(file);
}

static void read_rates(struct group *g, const char *text) {
    for (int used; *text; text += used + (text[used] == '+')) {
        if (g->piece_count == PIECES_MAX) die("too many pieces in rates");
        double *secs = &g->pieces[g->piece_count].secs, *rate = &g->pieces[g->piece_count].rate;
        if (sscanf(text, "%lf*%lf%n", secs, rate, &used) != 2) die("rates=%s", text);
        g->piece_count++;
    }
}

static void read_key(struct group *g, const char *key, const char *value) {
    if (!strcmp(key, "kind")) {
        for (g->kind = CLOSED; strcmp(KINDS[g->kind], value); g->kind++)
            if (g->kind == READ) die("there is no kind %s", value);
    } else if (!strcmp(key, "path")) snprintf(g->path, sizeof g->path, "%s", value);
    else if (!strcmp(key, "body")) read_body(g, value);
    else if (!strcmp(key, "connections")) g->connections = atoi(value);
    else if (!strcmp(key, "window")) g->window = atoi(value);
    else if (!strcmp(key, "close")) g->closing = atoi(value) != 0;
    else if (!strcmp(key, "bytes")) g->bytes = atoll(value);
    else if (!strcmp(key, "active")) snprintf(g->active, sizeof g->active, "%s", value);
    else if (!strcmp(key, "deadline")) g->deadline_s = atof(value);
    else if (!strcmp(key, "ramp")) g->ramp_s = atof(value);
    else if (!strcmp(key, "rates")) read_rates(g, value);
    else die("a group has no %s", key);
}

static void read_group(char *name, char *rest) {
    if (run.group_count == GROUPS_MAX) die("too many groups");
    struct group *g = &run.groups[run.group_count++];
    snprintf(g->name, sizeof g->name, "%s", name);
    for (char *word = strtok(rest, ","); word; word = strtok(NULL, ",")) {
        char *value = strchr(word, '=');
        if (!value) die("%s has no value", word);
        *value = 0;
        read_key(g, word, value + 1);
    }
    if (!*g->path || !g->body) die("%s: path and body are needed", g->name);
    if (g->connections < 1 || g->connections > CONNECTIONS_MAX) die("%s: connections", g->name);
    if (g->window < 1 || g->window > g->connections) g->window = g->connections;
    if (g->kind == OPEN && (!g->piece_count || g->deadline_s <= 0)) die("%s: rates and deadline", g->name);
    if (g->kind >= UPLOAD && g->bytes < 1) die("%s: bytes", g->name);
    if (g->ramp_s < 0 || (g->ramp_s > 0 && g->kind == OPEN)) die("%s: ramp", g->name);
    g->next_arrival = g->next_trickle = g->next_opening = NEVER;
}

static void read_cpu(char *list) {
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        if (run.cpu_count == CPU_MAX) die("too many processes");
        run.cpu_count += !clock_getcpuclockid(atoi(word), &run.cpu[run.cpu_count]);
    }
}

static void read_setting(const char *key, char *value) {
    if (!strcmp(key, "port")) run.port = atoi(value);
    else if (!strcmp(key, "secs")) run.secs = atof(value);
    else if (!strcmp(key, "warm")) run.warm_s = atof(value);
    else if (!strcmp(key, "grace")) run.grace_s = atof(value);
    else if (!strcmp(key, "tick")) run.tick_s = atof(value);
    else if (!strcmp(key, "seed")) run.random = strtoull(value, NULL, 10);
    else if (!strcmp(key, "awake")) run.awake = atoi(value);
    else if (!strcmp(key, "cpu")) read_cpu(value);
    else die("there is no setting %s", key);
}

static void read_words(int count, char **words) {
    for (int i = 1; i < count; i++) {
        char *end = strpbrk(words[i], ":=");
        if (!end) die("%s: neither a setting nor a group", words[i]);
        char sign = *end;
        *end = 0;
        if (sign == '=') read_setting(words[i], end + 1);
        else read_group(words[i], end + 1);
    }
    if (run.port < 1 || run.port > 65535 || !run.group_count) die("a port and a group are needed");
    if (run.secs <= 0 || run.tick_s <= 0 || run.secs / run.tick_s > TICKS_MAX) die("secs and tick");
    run.tick_count = (int)ceil(run.secs / run.tick_s - 1e-6);
}

static void prepare(struct group *g) {
    char length[64] = "";
    if (g->closing) snprintf(length, sizeof length, "Connection: close\r\n");
    if (g->kind == UPLOAD) snprintf(length, sizeof length, "Content-Length: %lld\r\n", (long long)g->bytes);
    g->request_length =
        (size_t)snprintf(g->request, sizeof g->request, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
                         g->kind == UPLOAD ? "POST" : "GET", g->path, length);
    g->all = zeroed((size_t)g->connections, sizeof *g->all);
    g->ticks = zeroed((size_t)run.tick_count, sizeof *g->ticks);
    list_init(&g->gone);
    list_init(&g->idle);
    list_init(&g->busy);
    for (int i = 0; i < g->connections; i++) {
        struct connection *c = &g->all[i];
        c->group = g;
        list_init(c);
        move_last(c, &g->gone);
    }
    if (g->kind >= UPLOAD) g->next_trickle = now_ns();
}

/* ---- The report ---- */

static void print_latency(const char *name, const struct histogram *h) {
    printf("\"%s\": {\"count\": %llu, \"mean\": %.4f, \"p50\": %.3f, \"p90\": %.3f, \"p99\": %.3f, \"p999\": %.3f, "
           "\"max\": %.3f}, ",
           name, (unsigned long long)h->total, h->total ? h->sum / (double)h->total / 1e6 : 0.0,
           quantile_ms(h, 0.5), quantile_ms(h, 0.9), quantile_ms(h, 0.99), quantile_ms(h, 0.999),
           (double)h->max / 1e6);
}

/* One row for each tick: sent, right, refused, neither of these, and the latencies of what was right. */
static void print_series(const struct group *g) {
    printf("\"series\": [");
    for (int i = 0; i < run.tick_count; i++) {
        const struct tick *t = &g->ticks[i];
        printf("%s[%u, %u, %u, %u, %.3f, %.3f, %.3f]", i ? ", " : "", t->sent, t->ok, t->refused, t->bad, t->p50_ms,
               t->p99_ms, t->max_ms);
    }
    printf("]");
}

static void print_count(const char *name, uint64_t value) {
    printf("\"%s\": %llu, ", name, (unsigned long long)value);
}

static void print_group(const struct group *g) {
    unsigned fewest = UINT32_MAX, most = 0;
    for (int i = 0; i < g->connections; i++) {
        if (g->all[i].answers < fewest) fewest = g->all[i].answers;
        if (g->all[i].answers > most) most = g->all[i].answers;
    }
    printf("{\"name\": \"%s\", \"kind\": \"%s\", \"connections\": %d, ", g->name, KINDS[g->kind], g->connections);
    printf("\"rate\": %.3f, \"example\": \"%s\", ", (double)g->done * 1e9 / (double)run.taken_ns, g->example);
    print_count("sent", g->sent);
    print_count("ok", g->ok);
    print_count("done", g->done);
    print_count("refused", g->refused);
    print_count("with_retry_after", g->with_retry_after);
    print_count("timeouts", g->timeouts);
    print_count("unanswered", g->unanswered);
    print_count("wrong", g->wrong);
    print_count("resets", g->resets);
    print_count("unconnected", g->unconnected);
    print_count("exhausted", g->exhausted);
    print_count("opened", (uint64_t)g->opened);
    print_count("fewest", fewest);
    print_count("most", most);
    print_count("body_bytes", g->body_bytes);
    print_count("readers_served", g->readers_served);
    printf("\"late_max_ms\": %.3f, ", (double)g->late_max / 1e6);
    print_latency("latency", &g->latency);
    print_latency("refusal", &g->refusal);
    print_series(g);
    printf("}");
}

int main(int count, char **words) {
    struct rlimit files;
    read_words(count, words);
    run.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (run.epoll < 0) die("epoll_create1: %s", strerror(errno));
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    prctl(PR_SET_TIMERSLACK, 1); /* Arrivals are to be in time, to the microsecond. */
    EACH_GROUP(g) prepare(g);
    drive();
    printf("{\"secs\": %.6f, \"cpu_us\": %.3f, \"own_cpu_us\": %.3f, \"groups\": [",
           (double)run.taken_ns / 1e9, (double)run.cpu_ns / 1e3, (double)run.own_ns / 1e3);
    EACH_GROUP(g) {
        if (g != run.groups) printf(", ");
        print_group(g);
    }
    printf("]}\n");
    return 0;
}
