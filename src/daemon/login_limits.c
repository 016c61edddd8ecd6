/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/login_limits.h"

#include "base/text.h"
#include "model/names.h"
#include "plan/host_plan.h"
#include "runtime/log.h"

#include <errno.h>
#include <string.h>

enum { LIMITS_BYTES_MAX = 1 << 20 };

/* Only on hosts where PAM sets limits for logins. */
static int store(const Root *root, Arena *arena UNUSED, void *text) {
        if (!text)
                return root_remove(root, PATH_PAM_LIMITS);
        return root_is_directory(root, PATH_PAM_SECURITY)
                       ? root_store_file(root, PATH_PAM_LIMITS, text, 0644)
                       : 0;
}

static void on_stored(void *userdata, int error, const void *text) {
        LoginLimits *limits = userdata;

        limits->is_under_way = false;
        if (error < 0 && error != limits->error)
                log_line(
                        LOG_ERR,
                        "cannot %s " PATH_PAM_LIMITS
                        ": %s; logins keep the limits that they have. This is tried again after each "
                        "reload",
                        text ? "write" : "remove", strerror(-error));
        limits->error = error;
}

void login_limits_follow(LoginLimits *limits, const Keeper *keeper) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Look *look = keeper_look(keeper);
        char *present = NULL;

        /* The owners are not known. */
        if (limits->is_under_way || look->fault.error < 0 || look->config->fault.error < 0 ||
            look->config->is_incomplete ||
            ARRAY_ANY(instance, look->config->instances, look->config->n_instances,
                      instance->refusal))
                return;
        char *text = limits_pam_text(arena, look->config, look->plan);
        int r = root_read_file(limits->root, arena, PATH_PAM_LIMITS, LIMITS_BYTES_MAX, &present,
                               NULL);

        if (r == -ENOENT ? !text : text && text_equals(present, text))
                return;
        limits->is_under_way = true;
        disk_do(limits->disk, TAKE_PTR(arena), store, text, on_stored, limits);
}
