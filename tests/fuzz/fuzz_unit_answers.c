/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answers of systemd over D-Bus about a unit, of any type and value. An input is a list of answers:
 *
 *   PROPERTY SIGNATURE NUL VALUES
 *
 * PROPERTY is a letter, 'A' for the first of unit_properties[]; '!' in place of a signature is an error. Values
 * follow each other: texts up to a NUL, numbers as bytes, and for an array one byte with the number of items (at most
 * eight).
 *
 * Conditions: an answer is refused, or every text is valid UTF-8, an invocation id is hexadecimal, and the unit can be
 * judged and printed. */

#include "fuzz/fuzz.h"
#include "support/testing.h"
#include "systemd/unit_property.h"

#include <sys/socket.h>

enum { DEPTH_MAX = 8, ANSWERS_MAX = 32, SIGNATURE_MAX = 64 };

typedef struct Input {
        const uint8_t *at, *end;
        Arena *arena;
} Input;

static sd_bus *bus;
static Bus *calls;
static const Config *config;

/* ---- the bus, without a peer ---- */

static void begin_bus(void) {
        int fds[2];

        if (bus)
                return;
        require(bus_new(&calls) == 0);
        config = config_line(fuzz_lasting(), "20-pg Pages=10 Unit=pg.service");
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
        require(sd_bus_new(&bus) >= 0 && sd_bus_set_fd(bus, fds[0], fds[0]) >= 0);
        require(sd_bus_start(bus) >= 0);
}

static sd_bus_message *message_new(void) {
        sd_bus_message *message = NULL;

        require(sd_bus_message_new_method_call(bus, &message, UNIT_MANAGER, "/", UNIT_MANAGER,
                                               "Get") >= 0);
        return message;
}

/* ---- input ---- */

static const char *take_text(Input *input) {
        size_t left = (size_t) (input->end - input->at);
        const uint8_t *nul = left > 0 ? memchr(input->at, '\0', left) : NULL;
        size_t length = nul ? (size_t) (nul - input->at) : left;
        const char *text = fuzz_text(input->arena, input->at, length);

        input->at += length + (nul != NULL);
        return text;
}

static void take_bytes(Input *input, void *bytes, size_t size) {
        size_t left = (size_t) (input->end - input->at);

        memset(bytes, 0, size);
        if (left > 0)
                memcpy(bytes, input->at, left < size ? left : size);
        input->at += left < size ? left : size;
}

/* ---- values ---- */

static bool append_values(Input *input, sd_bus_message *message, const char *signature,
                          unsigned depth);

/* The length of the first complete type, or 0. */
static size_t type_length(const char *signature) {
        size_t n = 0, n_open = 0;

        while (signature[n] == 'a')
                n++;
        do {
                if (!signature[n])
                        return 0;
                n_open += strchr("({", signature[n]) != NULL;
                if (strchr(")}", signature[n])) {
                        if (n_open == 0)
                                return 0;
                        n_open--;
                }
                n++;
        } while (n_open > 0);
        return n;
}

static bool append_container(Input *input, sd_bus_message *message, char kind, const char *contents,
                             unsigned depth) {
        uint8_t n = 1;

        if (depth == 0 || sd_bus_message_open_container(message, kind, contents) < 0)
                return false;
        if (kind == 'a')
                take_bytes(input, &n, 1);
        for (unsigned i = 0; i < n % 9; i++)
                if (!append_values(input, message, contents, depth - 1))
                        return false;
        return sd_bus_message_close_container(message) >= 0;
}

static bool append_basic(Input *input, sd_bus_message *message, char type) {
        uint64_t number[2] = {0};

        if (strchr("sog", type))
                return sd_bus_message_append_basic(message, type, take_text(input)) >= 0;
        if (!strchr("ybnqiuxtd", type))
                return false;
        take_bytes(input, number,
                   type == 'y'           ? 1
                   : strchr("nq", type)  ? 2
                   : strchr("biu", type) ? 4
                                         : 8);
        return sd_bus_message_append_basic(message, type, number) >= 0;
}

static bool append_value(Input *input, sd_bus_message *message, const char *type, size_t length,
                         unsigned depth) {
        if (*type == 'a')
                return append_container(input, message, 'a',
                                        fuzz_text(input->arena, type + 1, length - 1), depth);
        if (*type == '(' || *type == '{')
                return length > 2 &&
                       append_container(input, message, *type == '(' ? 'r' : 'e',
                                        fuzz_text(input->arena, type + 1, length - 2), depth);
        if (*type == 'v')
                return append_container(input, message, 'v', take_text(input), depth);
        return append_basic(input, message, *type);
}

static bool append_values(Input *input, sd_bus_message *message, const char *signature,
                          unsigned depth) {
        while (*signature) {
                size_t length = type_length(signature);

                if (length == 0 || !append_value(input, message, signature, length, depth))
                        return false;
                signature += length;
        }
        return true;
}

/* NULL for an answer that libsystemd would reject. */
static sd_bus_message *take_answer(Input *input) {
        const char *signature = take_text(input);
        sd_bus_message *call = message_new(), *message = call;

        if (strlen(signature) > SIGNATURE_MAX)
                return sd_bus_message_unref(message);
        if (*signature == '!') {
                require(sd_bus_message_seal(call, 1, 0) >= 0);
                if (sd_bus_message_new_method_errorf(call, &message, take_text(input), "%s",
                                                     take_text(input)) < 0)
                        message = NULL;
                sd_bus_message_unref(call);
        } else if (sd_bus_message_open_container(message, 'v', signature) < 0 ||
                   !append_values(input, message, signature, DEPTH_MAX) ||
                   sd_bus_message_close_container(message) < 0) {
                return sd_bus_message_unref(message);
        }
        if (message && sd_bus_message_seal(message, 2, 0) < 0)
                return sd_bus_message_unref(message);
        return message;
}

/* ---- conditions ---- */

static void check_text(const char *text) {
        require(text && text_is_utf8(text, strlen(text)));
}

static void check_unit(Arena *arena, const LoadedUnit *unit) {
        const SourceNames *const lists[] = {&unit->dropins, &unit->after, &unit->pre_starts,
                                            &unit->starts, &unit->groups};
        const char *const texts[] = {unit->load_state,   unit->user,      unit->group,
                                     unit->active_state, unit->sub_state, unit->run,
                                     unit->control_group};
        Diags problems = diags_in(arena);

        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                VEC_FOREACH(text, lists[i])
                        check_text(*text);
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                check_text(texts[i]);
        require(strlen(unit->run) <= 32 &&
                strspn(unit->run, "0123456789abcdef") == strlen(unit->run));
        require(!loaded_unit_starts_by(unit, 1234) || unit->main_pid == 1234 ||
                strcmp(unit->active_state, "activating") == 0 ||
                strcmp(unit->active_state, "reloading") == 0);
        loaded_unit_has_gates(config, unit);
        loaded_unit_judge_gates(config, unit, &problems);
        loaded_unit_judge_state(config, NULL, unit, &problems);
        VEC_FOREACH(problem, &problems.list)
                require_printable(diag_format(arena, problem));
}

FUZZ(arena, data, size) {
        LoadedUnit unit = unit_property_none("pg.service");
        Input input = {data, data + size, arena};

        begin_bus();
        for (unsigned n = 0; input.at < input.end && n < ANSWERS_MAX; n++) {
                size_t i = (size_t) (*input.at++ - 'A') % n_unit_properties;
                sd_bus_message *message = take_answer(&input);

                if (message)
                        unit_property_read(&unit_properties[i],
                                           &(UnitAnswer){arena, calls, message}, &unit);
                sd_bus_message_unref(message);
                check_unit(arena, &unit);
        }
}
