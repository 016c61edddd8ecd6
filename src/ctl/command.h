/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A command of hugeplanctl, and what its verbs share. */

#include "base/diag.h"
#include "base/size.h"
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
        Progress *progress; /* of the call under way (progress.h); NULL: nobody is shown any */
        char **arguments;   /* after the verb */
        size_t n_arguments;
        VEC(const char *) settings; /* -c NAME=VALUE */
        const char *from;           /* --from= */
        const char *page_size;      /* --page-size= */
        const char *engine_version; /* --engine-version= */
        const char *pages, *memory; /* --pages=, --memory= */
        bool has_timeout;           /* --timeout= */
        uint64_t timeout_usec;
        const char *template;  /* --template=; NULL: the installed one */
        bool is_all;           /* --all */
        bool is_restart;       /* --restart */
        bool is_watching;      /* --watch */
        bool is_plugin;        /* --nagios */
        bool is_writing;       /* --write */
        bool is_forced;        /* --force */
        const char *draft;     /* --draft=, below the root; NULL: none */
        bool is_changing;      /* reload, release: who is silent is waited for longer */
        Figures found;         /* what a gate has found out before its start */
        bool is_daemon_silent; /* when it was asked last (daemon_call.h) */
} Command;

/* A path as the user means it: from the working directory, as long as the root is that of the host. */
const char *absolute_path(const Command *command, const char *path);

/* The configuration, with what could not be read among its problems. */
const Config *read_config(Command *command);

/* What hugeplanctl works out by itself, from the same files and with the same code as the daemon; writes nothing. As it
 * will be after a reload: of what was released, or what the boot guard keeps back, its guard_problems tell. */
Look *local_load(Command *command);

/* As it is before one. STARTING: for the gate of an instance whose unit starts at this moment; NULL: it is none. */
Look *local_load_now(Command *command, const InstanceConfig *starting);

/* The status as it is without a daemon. */
Status *local_status(Command *command, const Look *look, const char *phase);

/* Prints JSON (stolen) in the mode the command asks for. */
void print_json(const Command *command, json_t *json);

/* A derivation, as `size` and `explain` print it. */
json_t *sizing_to_json(const Sizing *sizing);

/* Those of SETTINGS that count: of a name the last. */
json_t *settings_to_json(Arena *arena, const Settings *settings);

/* "no instance is called 'x'; there are: a, b" on standard error; gives EXIT_NO_INSTANCE. */
int fail_no_instance(Command *command, const char *name, const Config *config);

/* Writes a file that the user names, in one go: whoever collects it never finds half of it. Gives an exit code. */
int write_output(const Command *command, const char *path, const char *text);

/* Creates a drop-in, whole or not at all, and says so; what is there already stays as it is. Gives an exit code. */
int create_file(const Command *command, const char *path, const char *text);

/* True, with a sentence on standard error, when hugeplan=off is on the kernel command line. */
bool is_switched_off(Command *command);
