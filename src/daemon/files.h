/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The configuration as its files are now, which may be another one than is in force: the next reload and
 * the next boot go by it. Whoever wants the status wants that held against what is in force. It is read anew
 * only when one of its files, directories or accounts is another one. */

#include "config/config.h"
#include "host/root.h"

typedef struct Files {
        const Root *root;
        Arena *arena,
                *before; /* of `config`; of the one before, to which somebody may refer still */
        const Config *config;
} Files;

/* IN_FORCE, where that is what the files say, else good until it was asked for twice more. */
const Config *files_config(Files *files, const Config *in_force);

void files_free(Files *files);
