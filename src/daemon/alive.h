/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

typedef struct Manager Manager;

/* From now on, as long as a start or a round lasts, the service manager hears that the loop runs. */
void alive_begin(Manager *manager);
void alive_end(Manager *manager);
