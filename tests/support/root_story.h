/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Stories about the functions of host/root.h, for a Root on a directory and for the one of the model.
 *
 *     write PATH TEXT -> ok       root_write_file(); create, attribute: root_create_file(), root_write_attribute()
 *     symlink PATH TARGET -> ok
 *     make PATH -> ok             a directory
 *     delete PATH -> ok
 *     content PATH -> TEXT        root_read_file(), of at most 100 bytes; value: root_read_attribute()
 *     number PATH -> NUMBER       root_read_u64()
 *     target PATH -> TARGET
 *     list PATH -> NAME...
 *     kind PATH -> file           directory, file or none
 *
 * A failure is the name of its error. */

#include "host/root.h"
#include "support/story.h"

/* Performs the verbs above. Returns NULL for other verbs. */
const char *root_story_perform(const Root *root, const StoryLine *line);
