/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Asks a process that has become another user (inspect/confine.h) and answers in JSON. */

#include "base/size.h"
#include "host/host_sources.h"
#include "inspect/owner.h"

#include <jansson.h>

#define READER_NO_ANSWER "the process that reads its files gave no proper answer"

/* Called in that process. SOURCES read with the rights of PERSON. */
typedef json_t *(*ReaderMake)(void *userdata, Arena *arena, HostSources *sources);

/* Sets *RET to the answer of MAKE (untrusted; the caller checks each member and releases it) and returns NULL, or
 * returns an error message. If ROOT has a recorder, it also records all that the process read, still unmasked
 * (inspect/kept/kept.h). */
const char *reader_ask(const Root *root, Arena *arena, const Person *person, uint64_t timeout_usec,
                       ReaderMake make, void *userdata, json_t **ret);

/* Far above the usual duration. */
#define READER_USEC (10 * USEC_PER_SEC)
