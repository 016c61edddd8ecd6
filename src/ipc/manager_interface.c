/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/manager_interface.h"

#include "ipc/interface_texts.h"

const VarlinkServerInfo manager_service_info = {
        .vendor = "The hugeplan project",
        .product = "hugeplan",
        .version = HUGEPLAN_VERSION,
        .url = "man:hugepland(8)",
};

const char manager_interface_description[] = MANAGER_DESCRIPTION;
