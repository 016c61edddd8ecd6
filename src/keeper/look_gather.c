/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/look.h"

Look *look_make_gathered(Arena *arena, const LookInput *input, const Gatherer *gatherer) {
        unsigned n_tries = 0;
        Look *look;

        do {
                LookInput with_derived = *input;
                Figures found = {};

                look = look_at_host(arena, input);
                const Figures derived = figures_derive(arena, input->config, look->topology,
                                                       gatherer, FIGURES_UNLEARNED);

                if (input->found)
                        vec_push_all(arena, &found, input->found);
                vec_push_all(arena, &found, &derived);
                with_derived.found = &found;
                look_complete(arena, &with_derived, look);
        } while (root_try_again(input->root, look->fault.error, &n_tries));
        return look;
}
