/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

typedef struct Manager Manager;

/* Makes the socket's file anew where it is missing, now and whenever it goes. */
void socket_file_keep(Manager *manager);
void socket_file_forget(Manager *manager);
