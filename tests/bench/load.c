/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads a server whose requests and replies each end with a NUL byte.
 *
 *     bench-load keep SOCKET REQUEST CLIENTS REQUESTS
 *     bench-load single SOCKET REQUEST CLIENTS REQUESTS
 *     bench-load spread SOCKET REQUEST CLIENTS TRIGGER
 *
 * keep, single: CLIENTS at a time send REQUESTS in all, each on its own connection (keep), or on a new one for each request
 * (single). Prints "REQUESTS-PER-SECOND P50-USEC P99-USEC REFUSED". A request is refused if its connection is closed without
 * a reply; it is sent again.
 * spread: CLIENTS subscribe with REQUEST and read a first reply; TRIGGER makes the server send each of them another one.
 * Prints "USEC" from the first to the last of these. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64 };

typedef struct Client {
        int fd;
        long long sent_nsec;
} Client;

typedef struct Load {
        struct sockaddr_un address;
        const char *request;
        int epoll_fd;
        int is_kept;
        long n_to_send, n_done, n_wanted, n_refused;
        long long *latencies;
} Load;

static long long now_nsec(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void die(const char *what) {
        perror(what);
        exit(1);
}

static void send_request(int fd, const char *request) {
        /* A server that refuses the client may have closed the connection already, which take_reply() notices. */
        if (send(fd, request, strlen(request) + 1, MSG_NOSIGNAL) < 0 && errno != EPIPE &&
            errno != ECONNRESET)
                die("send");
}

static int connect_to(const struct sockaddr_un *address) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *) address, sizeof(*address)) < 0)
                die("connect");
        return fd;
}

/* Returns 1 if the reply is complete, 0 if it is not, and -1 if the server has closed the connection. */
static int take_reply(int fd) {
        char bytes[65536];
        ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n < 0)
                return errno == EAGAIN ? 0 : -1;
        return n == 0 ? -1 : bytes[n - 1] == '\0';
}

static void client_connect(Load *load, Client *client) {
        client->sent_nsec = now_nsec();
        client->fd = connect_to(&load->address);
        send_request(client->fd, load->request);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};

        if (epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, client->fd, &event) < 0)
                die("epoll_ctl");
}

static void client_ended(Load *load, Client *client, int is_answered) {
        if (is_answered)
                load->latencies[load->n_done++] = now_nsec() - client->sent_nsec;
        else
                load->n_refused++;
        if (!is_answered || !load->is_kept)
                close(client->fd);
        if (is_answered && load->n_to_send <= 0)
                return;
        if (is_answered)
                load->n_to_send--;
        if (!is_answered || !load->is_kept) {
                client_connect(load, client);
                return;
        }
        client->sent_nsec = now_nsec();
        send_request(client->fd, load->request);
}

static int compare(const void *a, const void *b) {
        long long first = *(const long long *) a, second = *(const long long *) b;

        return first < second ? -1 : first > second;
}

static void run_requests(Load *load, long n_clients) {
        Client *clients = calloc((size_t) n_clients, sizeof(Client));
        struct epoll_event events[EVENTS_MAX];

        load->latencies = calloc((size_t) load->n_wanted + 1, sizeof(long long));
        load->n_to_send = load->n_wanted - n_clients;
        if (!clients || !load->latencies)
                die("calloc");
        long long start = now_nsec();

        for (long i = 0; i < n_clients; i++)
                client_connect(load, &clients[i]);
        while (load->n_done < load->n_wanted) {
                int n = epoll_wait(load->epoll_fd, events, EVENTS_MAX, 20000);

                if (n <= 0)
                        die("no answer");
                for (int i = 0; i < n; i++) {
                        Client *client = events[i].data.ptr;
                        int r = take_reply(client->fd);

                        if (r != 0)
                                client_ended(load, client, r > 0);
                }
        }
        double seconds = (double) (now_nsec() - start) / 1e9;

        qsort(load->latencies, (size_t) load->n_done, sizeof(long long), compare);
        printf("%.0f %.1f %.1f %ld\n", (double) load->n_done / seconds,
               (double) load->latencies[load->n_done / 2] / 1e3,
               (double) load->latencies[load->n_done * 99 / 100] / 1e3, load->n_refused);
        free(clients);
        free(load->latencies);
}

/* Waits for one complete reply to each client; returns the nanoseconds from the first to the last. */
static long long await_all(Load *load, long n_clients) {
        struct epoll_event events[EVENTS_MAX];
        long long first = 0, last = 0;

        for (long n_left = n_clients; n_left > 0;) {
                int n = epoll_wait(load->epoll_fd, events, EVENTS_MAX, 20000);

                if (n <= 0)
                        die("no answer");
                for (int i = 0; i < n; i++) {
                        const Client *client = events[i].data.ptr;
                        int r = take_reply(client->fd);

                        if (r < 0)
                                die("refused");
                        last = now_nsec();
                        first = first ? first : last;
                        n_left -= r;
                }
        }
        return last - first;
}

int main(int argc, char **argv) {
        struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
        Load load = {.address.sun_family = AF_UNIX, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
        long n_clients;

        if (argc != 6 || strlen(argv[2]) >= sizeof(load.address.sun_path))
                return 2;
        setrlimit(RLIMIT_NOFILE, &files);
        memcpy(load.address.sun_path, argv[2], strlen(argv[2]));
        load.request = argv[3];
        n_clients = strtol(argv[4], NULL, 10);
        if (strcmp(argv[1], "spread") == 0) {
                Client *clients = calloc((size_t) n_clients, sizeof(Client));

                if (!clients)
                        die("calloc");
                for (long i = 0; i < n_clients; i++)
                        client_connect(&load, &clients[i]);
                await_all(&load, n_clients);
                int fd = connect_to(&load.address);

                send_request(fd, argv[5]);
                printf("%.1f\n", (double) await_all(&load, n_clients) / 1e3);
                close(fd);
                free(clients);
                return 0;
        }
        load.is_kept = strcmp(argv[1], "keep") == 0;
        load.n_wanted = strtol(argv[5], NULL, 10);
        if (load.n_wanted < n_clients)
                return 2;
        run_requests(&load, n_clients);
        return 0;
}
