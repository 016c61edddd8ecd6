/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the parts of the finder share (engines/finder.h). */

#include "engines/finder.h"

/* Units, by what their packages call them and by what they start. */
void find_in_units(Finder *finder);

/* Units that podman makes of container files. */
void find_in_quadlets(Finder *finder);

/* Whose server the container image is; NULL: nobody's. */
const Engine *find_engine_of_image(const Finder *finder, const char *image);

/* Processes, by the server's program. */
void find_in_processes(Finder *finder);
