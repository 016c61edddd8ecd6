/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A status with what only hugeplanctl can see: who uses the pages, and whether databases run with theirs. */
#include "base/json.h"
#include "render/status_json.h"
#include "status/proof.h"

static void add_outcome(json_t *json, const StatusInstance *instance) {
        if (instance->proof)
                json_object_set_new(json, "outcome",
                                    json_string(outcome_name(instance->proof->outcome)));
}

json_t *status_seen_instance_to_json(const StatusInstance *instance) {
        json_t *json = status_instance_to_json(instance);

        add_outcome(json, instance);
        return json;
}

json_t *status_seen_to_json(const Status *status) {
        json_t *json = status_to_json(status), *instance;
        size_t i;

        json_array_foreach(json_object_get(json, "instances"), i, instance)
                add_outcome(instance, &status->instances[i]);
        if (!status->page_users)
                return json;
        json_t *users = json_array();

        VEC_FOREACH(user, &status->page_users->list) {
                const StatusInstance *of = status_find_unit(status, user->unit);

                json_array_append_new(users, page_user_to_json(user, of ? of->name : NULL));
        }
        json_object_set_new(json, "pageUsers", users);
        return json;
}
