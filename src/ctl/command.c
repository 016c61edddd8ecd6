/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/command.h"

#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "host/config_load.h"
#include "host/probe.h"
#include "inspect/gather.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "runtime/log.h"
#include "systemd/unit_property.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *absolute_path(const Command *command, const char *path) {
        char directory[PATH_MAX];

        if (*path == '/' || !root_is_host(command->root) || !getcwd(directory, sizeof(directory)))
                return path;
        return arena_printf(command->arena, "%s/%s", directory, path);
}

const Config *read_config(Command *command) {
        return config_load(command->root, command->arena, command->draft);
}

Look *local_load(Command *command, bool is_reload, const InstanceConfig *starting) {
        OwnerGatherer owner = gather_as_owner(command->root);
        PlanStartings *now = ARENA_NEW(command->arena, PlanStartings);

        if (starting) {
                const char *run = getenv("INVOCATION_ID"); /* of this start: systemd.exec(5) */

                *vec_push(command->arena, now) = (PlanStarting){
                        .instance = starting->name,
                        .unit = starting->unit,
                        .run = run ? run : "",
                        .policy = unit_property_own_policy(),
                };
        }
        const LookInput input = {
                .root = command->root,
                .found = &command->found,
                .config = read_config(command),
                .starting = starting ? now : NULL,
                .is_reload = is_reload,
                .derive = figures_derive,
                .gatherer = &owner.gatherer,
        };
        Look *look = look_make(command->arena, &input);

        if (look->fault.error < 0) {
                const Diag diag = look_fault_diag(command->arena, &look->fault);

                diags_add(&look->guard_problems, &diag);
        }
        return look;
}

HostView local_view(const Look *look) {
        return (HostView){
                .config = look->config,
                .topology = look->topology,
                .ledger = look->ledger,
                .no_before = look->state,
                .use = look->use,
                .plan = look->plan,
                .thp = &look->host.thp,
                .figures = &look->figures,
        };
}

Status *local_status(Command *command, const Look *look, const char *phase) {
        StatusInput input = look_status_input(look, look->plan);

        input.phase = phase;
        input.is_alone = look->starting != NULL;
        Status *status = status_judge(command->arena, &input);

        diags_add_all(&status->problems, &look->guard_problems);
        return status;
}

int fail_no_instance(Command *command, const char *name, const Config *config) {
        Text text = text_in(command->arena);
        NearMiss miss = {name, 3};

        for (size_t i = 0; config && i < config->n_instances; i++) {
                near_miss_try(&miss, config->instances[i].name);
                text_printf(&text, "%s%s",
                            i > 0 ? ", " : "; there are: ", config->instances[i].name);
        }
        if (miss.name) {
                text = text_in(command->arena);
                text_printf(&text, "; did you mean %s?", miss.name);
        } else if (config && config->n_instances == 0) {
                text_add(&text, "; none is described in /etc/hugeplan.d");
        }
        return log_failure(EXIT_NO_INSTANCE, "no instance is named '%s'%s", name,
                           text_string(&text));
}

int fail_to_write(const char *path, const char *why) {
        return log_failure(EXIT_FAILED, "%s is not written: %s; name another file", path, why);
}

/* A device, link or directory is not replaced: root would otherwise replace /dev/stdout by a file. A missing directory
 * is not made, because its name is probably misspelt. */
int open_output(Command *here, const char *path, bool is_new, Root **ret) {
        const char *name = path ? text_base_name(path) : NULL, *wrong = NULL;
        const char *directory = name == path ? "." : arena_strdup_to(here->arena, path, name);
        struct stat st;
        int r = ret ? root_open("/", ret) : 0;

        if (r < 0)
                return fail_to_write("/", strerror(-r));
        if (ret)
                here->root = *ret;
        if (name && !*name)
                wrong = "it is the name of a directory";
        else if (name && lstat(path, &st) == 0)
                wrong = is_new                ? "it already exists"
                        : S_ISREG(st.st_mode) ? NULL
                                              : "it is not a regular file";
        else if (name && (errno != ENOENT || stat(directory, &st) < 0))
                wrong = strerror(errno);
        return wrong ? fail_to_write(path, wrong) : EXIT_DONE;
}

int write_output(const Command *here, const char *path, const char *text) {
        int r = root_write_file(here->root, absolute_path(here, path), text);

        return r < 0 ? fail_to_write(path, strerror(-r)) : EXIT_DONE;
}

const Reason *stands_aside(const Command *command) {
        static const Reason switched_off = {
                REASON_STANDS_ASIDE,
                KERNEL_SWITCH_OFF " is on the kernel command line: hugeplan reserves nothing, and "
                                  "units start unchecked",
                "remove " KERNEL_SWITCH_OFF " from the kernel command line and reboot"};
        static const Reason in_container = {
                REASON_STANDS_ASIDE,
                "this is a container, whose huge pages are its host's: hugeplan reserves nothing, "
                "and units start unchecked",
                "describe the database on the container's host"};
        static const Reason in_crash_kernel = {
                REASON_STANDS_ASIDE,
                "this kernel was started to save a crash dump (" PATH_CRASH_DUMP " exists) and has "
                "little memory: hugeplan reserves nothing, and units start unchecked",
                "save the dump and reboot"};

        if (probe_is_switched_off(command->root))
                return &switched_off;
        if (root_exists(command->root, PATH_CRASH_DUMP))
                return &in_crash_kernel;
        return root_exists(command->root, PATH_CONTAINER) ? &in_container : NULL;
}

bool log_aside(const Command *command, int level) {
        const Reason *aside = stands_aside(command);

        if (aside)
                log_line(level, "%s; %s", aside->text, aside->remedy);
        return aside != NULL;
}

/* ---- JSON ---- */

void print_json(const Command *command, json_t *json) {
        size_t flags = JSON_PRESERVE_ORDER;
        char *text = json_dumps(json, command->json == JSON_PRETTY ? flags | JSON_INDENT(2)
                                                                   : flags | JSON_COMPACT);

        json_decref(json);
        if (text)
                puts(text);
        memory_free(text);
}

/* ---- --output=: the values of the JSON, with the same names ---- */

static const char *cell_of(Arena *arena, const json_t *value) {
        Text text = text_in(arena);
        const json_t *item;
        size_t i;

        if (json_is_string(value))
                return json_string_value(value);
        if (json_is_boolean(value))
                return json_is_true(value) ? "true" : "false";
        if (json_is_integer(value))
                return arena_printf(arena, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        json_array_foreach(value, i, item) {
                const json_t *node = json_object_get(item, "node");

                text_add_word(&text,
                              node ? arena_printf(arena, "%s:%s", cell_of(arena, node),
                                                  cell_of(arena, json_object_get(item, "pages")))
                                   : cell_of(arena, item));
        }
        return text.string;
}

/* ROW is NULL for the header. */
static void add_row(Text *csv, Table *table, const json_t *row, const char *columns) {
        const char *separator = "";

        TEXT_FOREACH(column, csv->arena, columns, "|") {
                column += *column == '>';
                const char *cell = row ? cell_of(csv->arena, json_object_get(row, column)) : column;

                if (row)
                        table_add(table, cell);
                const char *quote = cell && strpbrk(cell, ",\"\r\n") ? "\"" : "";

                text_printf(csv, "%s%s", separator, quote);
                if (cell && !*quote)
                        text_add(csv, cell);
                for (; cell && *quote && *cell; cell++)
                        text_repeat(csv, *cell, *cell == '"' ? 2 : 1);
                text_add(csv, quote);
                separator = ",";
        }
        text_add(csv, "\n");
}

void print_columns(const Command *command, json_t *rows, const char *columns) {
        Table *table = table_new(command->arena, columns);
        Text csv = text_in(command->arena), text = text_in(command->arena);
        const json_t *row;
        size_t i;

        add_row(&csv, table, NULL, columns);
        json_array_foreach(rows, i, row)
                add_row(&csv, table, row, columns);
        table_print(table, &text, "", false);
        fputs(command->output == OUTPUT_CSV ? csv.string : text.string, stdout);
        json_decref(rows);
}

int log_failure(int code, const char *format, ...) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        va_list arguments;

        va_start(arguments, format);
        log_line(LOG_ERR, "%s", arena_vprintf(arena, format, arguments));
        va_end(arguments);
        return code;
}
