/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/host_after.h"

#include "base/text.h"
#include "model/names.h"

Overlay host_after(Arena *arena, const Sources *sources, const Config *config, const Plan *plan,
                   const HostWrites *writes, const Dropins *dropins) {
        Overlay overlay = overlay_over(sources);

        VEC_FOREACH(write, writes)
                overlay_put(arena, &overlay, write->path,
                            arena_printf(arena, "%s\n", write->value));
        /* Drop-ins of units that no instance names any more are removed. */
        SourceNames generated = source_list(sources, arena, PATH_GENERATOR_DIR);

        VEC_FOREACH(name, &generated)
                if (text_ends_with(*name, ".d"))
                        overlay_put(
                                arena, &overlay,
                                arena_printf(arena, PATH_GENERATOR_DIR "/%s/" NAME_DROPIN, *name),
                                NULL);
        VEC_FOREACH(dropin, dropins)
                overlay_put(
                        arena, &overlay,
                        arena_printf(arena, PATH_GENERATOR_DIR "/%s.d/" NAME_DROPIN, dropin->unit),
                        dropin->text);
        /* Logins without PAM's directory have no limits. */
        SourceNames names = {};
        if (sources->list(sources, arena, PATH_PAM_SECURITY, &names) >= 0)
                overlay_put(arena, &overlay, PATH_PAM_LIMITS, limits_pam_text(arena, config, plan));
        return overlay;
}
