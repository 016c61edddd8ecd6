/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `cat-config`: the configuration files that count. */
#include "ctl/verbs.h"
#include "host/config_dirs.h"
#include "model/exit_code.h"

#include <stdio.h>
#include <string.h>

int verb_cat_config(Command *command) {
        Diags problems = diags_in(command->arena);
        ConfigTrace trace = {};
        const ConfigFiles *files = config_dirs_read(command->root, command->arena, command->draft,
                                                    NULL, &problems, &trace);
        bool is_first = true;

        VEC_FOREACH(file, files) {
                printf("%s# %s\n", is_first ? "" : "\n",
                       root_path(command->arena, command->root, file->path));
                if (file->text)
                        fwrite(file->text, 1, file->size, stdout);
                else
                        printf("# cannot be read: %s\n", strerror(-file->error));
                if (file->text && file->size > 0 && file->text[file->size - 1] != '\n')
                        putchar('\n');
                is_first = false;
        }
        if (problems.list.n > 0)
                fputs(render_problems(command->arena, &problems, &command->render), stderr);
        return diags_count(&problems, SEVERITY_ERROR) > 0 ? EXIT_FAILED : EXIT_DONE;
}
