/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A command of hugeplanctl, and functions shared by its verbs. */

#include "base/diag.h"
#include "base/size.h"
#include "check/host_facts.h"
#include "demand/figures.h"
#include "host/root.h"
#include "keeper/look.h"
#include "render/render.h"
#include "status/status.h"

#include <jansson.h>

typedef enum JsonMode { JSON_OFF, JSON_SHORT, JSON_PRETTY } JsonMode;

typedef enum OutputMode { OUTPUT_TEXT, OUTPUT_TABLE, OUTPUT_CSV } OutputMode;

typedef struct Progress Progress;

typedef struct Command {
        Arena *arena;
        const char *root_name; /* --root= */
        Root *root;
        JsonMode json;
        OutputMode output; /* --output= */
        RenderOptions render;
        Progress *progress; /* of the running call (daemon_call.h); NULL: none is shown */
        char **arguments;   /* after the verb */
        size_t n_arguments;
        VEC(const char *) settings; /* -c NAME=VALUE */
        VEC(size_t) choices;        /* options that were given, by their row */
        const char *from;           /* --from= */
        const char *page_size;      /* --page-size= */
        const char *engine_version; /* --engine-version= */
        const char *pages, *memory; /* --pages=, --memory= */
        bool has_timeout;           /* --timeout= */
        uint64_t timeout_usec;
        const char *template;  /* --template=; NULL: the installed one */
        bool is_all;           /* --all */
        bool is_brief;         /* the daemon is asked for what the table of all instances shows */
        bool is_restart;       /* --restart */
        bool is_watching;      /* --watch */
        bool is_plugin;        /* --nagios */
        bool is_writing;       /* --write */
        bool is_forced;        /* --force */
        const char *draft;     /* --draft=, below the root; NULL: none */
        bool is_changing;      /* reload, release: a silent daemon is waited for longer */
        Figures found;         /* sizes that a gate has found before the start */
        bool is_daemon_silent; /* at the last call (daemon_call.h) */
} Command;

/* PATH relative to the working directory if the root is the host's. */
const char *absolute_path(const Command *command, const char *path);

/* The configuration; files that could not be read are among its problems. */
const Config *read_config(Command *command);

/* The look and plan by the files and code that the daemon uses, without writing anything. With IS_RELOAD it is what a
 * reload would make: guard_problems has released instances and those that the boot guard holds back. STARTING: the
 * instance whose unit is starting; NULL: none. */
Look *local_load(Command *command, bool is_reload, const InstanceConfig *starting);

/* What is judged of LOOK; members that it does not have are NULL. */
HostView local_view(const Look *look);

/* The status without a daemon. */
Status *local_status(Command *command, const Look *look, const char *phase);

/* Prints JSON (stolen) in the command's mode. */
void print_json(const Command *command, json_t *json);

/* Prints rows of JSON (stolen) with COLUMNS, "name|>pagesWanted": names of fields, with ">" if a table aligns the
 * column to the right. For scripts, so without abbreviations or color. As CSV (RFC 4180, but with plain line ends) or
 * as a table; unknown values are empty, or "-". A list is one cell: "orders sales", "0:541 1:540". */
void print_columns(const Command *command, json_t *rows, const char *columns);

/* Logs an error and returns CODE. */
int log_failure(int code, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints "no instance is named 'x'; there are: a, b" to standard error. Returns EXIT_NO_INSTANCE. */
int fail_no_instance(Command *command, const char *name, const Config *config);

/* Logs a failure if PATH (NULL: none) cannot be written on the caller's own host, and, with RET, makes that host the root
 * of HERE, even if --root= names another one. IS_NEW: PATH must not exist. Returns an exit code. */
int open_output(Command *here, const char *path, bool is_new, Root **ret);

/* Writes PATH atomically after open_output(). Returns an exit code. */
int write_output(const Command *here, const char *path, const char *text);
int fail_to_write(const char *path, const char *why);

/* Returns why hugeplan does nothing on this host (hugeplan.service and the generator have the same conditions), or NULL:
 * hugeplan=off on the kernel command line, systemd(1) runs in a container, or the kernel was started to save a crash
 * dump. */
const Reason *stands_aside(const Command *command);

/* Prints that reason to standard error as a message of LEVEL (syslog(3)). Returns false if there is none. */
bool log_aside(const Command *command, int level);
