/* A client of the test with two guests, in one static program: the first process of a guest, which
 * mounts a shared filesystem and starts what it is told to over the network, and, under any other
 * name, what a launcher calls in the place of rsh to tell it so: `rsh HOST COMMAND...`. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT = 7000, WORDS_MAX = 100, BYTES_MAX = 65536, STEPS_MAX = 6000, STEP_US = 10000 };

static void fail(const char *what) {
    perror(what);
    if (getpid() == 1) reboot(RB_POWER_OFF);
    exit(255);
}

static struct sockaddr_in address(const char *text, int port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (!text || inet_pton(AF_INET, text, &at.sin_addr) != 1) fail(text ? text : "no address");
    return at;
}

static void mounted(const char *type, const char *point) {
    mkdir(point, 0755);
    if (mount(type, point, type, 0, NULL)) fail(point);
}

/* The network device comes up with the address of the kernel's command line. */
static void network(void) {
    int any = socket(AF_INET, SOCK_DGRAM, 0);
    const char *names[] = {"lo", "eth0"}, *addresses[] = {"127.0.0.1", getenv("address")};
    for (int at = 0; at < 2; at++) {
        struct ifreq asked = {0};
        strcpy(asked.ifr_name, names[at]);
        struct sockaddr_in own = address(addresses[at], 0), mask = address("255.255.255.0", 0);
        memcpy(&asked.ifr_addr, &own, sizeof own);
        /* A device may take a while until it is there. */
        for (int step = 0; ioctl(any, SIOCSIFADDR, &asked); step++) {
            if (step == STEPS_MAX) fail(names[at]);
            usleep(STEP_US);
        }
        memcpy(&asked.ifr_netmask, &mask, sizeof mask);
        if (ioctl(any, SIOCSIFNETMASK, &asked)) fail("netmask");
        asked.ifr_flags = IFF_UP | IFF_RUNNING;
        if (ioctl(any, SIOCSIFFLAGS, &asked)) fail("up");
    }
    close(any);
}

/* Each line of /mounts is a name on the server, the directory here, and the options. */
static void shares(void) {
    char line[2000], options[2200];
    FILE *all = fopen("/mounts", "r");
    while (all && fgets(line, sizeof line, all)) {
        char *source = strtok(line, " "), *point = strtok(NULL, " "), *rest = strtok(NULL, " \n");
        if (!rest) fail("/mounts");
        for (char *slash = point; (slash = strchr(slash + 1, '/')); *slash = '/') {
            *slash = 0;
            mkdir(point, 0755);
        }
        mkdir(point, 0755);
        snprintf(options, sizeof options, "%s,clientaddr=%s", rest, getenv("address"));
        int step = 0;
        for (; mount(source, point, "nfs4", 0, options); step++) {
            if (step == 30) fail(source);
            perror(source);
            sleep(1);
        }
        printf("%s is mounted on %s\n", source, point);
    }
    if (all) fclose(all);
}

/* Reads words that end with a byte of 0, to a word of none, and becomes the program they name. */
static void starts(int caller) {
    static char bytes[BYTES_MAX];
    char *words[WORDS_MAX + 1] = {0}, *begin = bytes, *end = bytes;
    for (int count = 0; end < bytes + BYTES_MAX && read(caller, end, 1) == 1; end++) {
        if (*end) continue;
        if (end == begin) {
            for (int number = 0; number < 3; number++) dup2(caller, number);
            close(caller);
            execv(words[0], words);
            fail(words[0]);
        }
        if (count == WORDS_MAX) break;
        words[count++] = begin;
        begin = end + 1;
    }
    _exit(255);
}

static int first_process(void) {
    mounted("devtmpfs", "/dev");
    int console = open("/dev/console", O_RDWR), yes = 1;
    for (int number = 0; number < 3; number++) dup2(console, number);
    setvbuf(stdout, NULL, _IOLBF, 0);
    mounted("proc", "/proc");
    mounted("sysfs", "/sys");
    mounted("tmpfs", "/run");
    mounted("tmpfs", "/tmp");
    mounted("tmpfs", "/dev/shm");
    mounted("tmpfs", "/root");
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("HOME", "/root", 1);
    sethostname(getenv("name"), strlen(getenv("name")));
    modules();
    network();
    shares();
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in own = address(getenv("address"), PORT);
    if (bind(door, (struct sockaddr *)&own, sizeof own) || listen(door, 10)) fail("listen");
    puts("the client is ready");
    for (;;) {
        int caller = accept(door, NULL, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0);
        if (caller < 0) continue;
        if (!fork()) starts(caller);
        close(caller);
    }
}

/* Hands on what comes, until its end; says whether that has not come. */
static int handed_on(int from, int to) {
    char bytes[4096];
    ssize_t count = read(from, bytes, sizeof bytes);
    for (ssize_t at = 0, more; at < count; at += more)
        if ((more = write(to, bytes + at, count - at)) <= 0) return 0;
    return count > 0;
}

static int calls(int count, char **words) {
    int host = 1, guest = socket(AF_INET, SOCK_STREAM, 0);
    while (host < count && words[host][0] == '-') host++;
    if (host + 1 >= count) return 2;
    /* A guest that is cut off says nothing any more. */
    int yes = 1, seconds = 5, times = 3;
    setsockopt(guest, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(guest, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(guest, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(guest, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    struct sockaddr_in at = address(words[host], PORT);
    if (connect(guest, (struct sockaddr *)&at, sizeof at)) fail(words[host]);
    /* Words are quoted for a shell, which there is none of. */
    for (int number = host + 1; number < count; number++) {
        char *word = words[number];
        size_t length = strlen(word);
        if (length > 1 && word[0] == '"' && word[length - 1] == '"') {
            word[length - 1] = 0;
            word++;
        }
        if (write(guest, word, strlen(word) + 1) < 0) fail("the guest");
    }
    if (write(guest, "", 1) < 0) fail("the guest");
    struct pollfd ends[] = {{guest, POLLIN, 0}, {0, POLLIN, 0}};
    while (poll(ends, 2, -1) > 0) {
        if (ends[0].revents && !handed_on(guest, 1)) return 0;
        if (ends[1].revents && !handed_on(0, guest)) {
            shutdown(guest, SHUT_WR);
            ends[1].fd = -1;
        }
    }
    return 255;
}

int main(int count, char **words) {
    return getpid() == 1 ? first_process() : calls(count, words);
}
