/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where a unit that starts Java has the options of its virtual machine: the command line, variables, files of
 * arguments, and the products' own files. */

#include "base/text.h"
#include "engines/jvm/jvm_options.h"
#include "engines/reader.h"
#include "read/unit_file.h"

enum { LINKS_MAX = 8, FILE_BYTES_MAX = 128 * 1024 };

/* Products that start Java by scripts of their own, which read files of options and set the
 * virtual machine's own variables aside (bin/elasticsearch-env). */
typedef struct Product {
        const char *unit; /* what its name begins with */
        const char *directory_variable, *directory;
        const char *options_variable;
        const char *java_variable, *java; /* the Java that comes with it */
} Product;

static const Product products[] = {
        {"elasticsearch", "ES_PATH_CONF", "/etc/elasticsearch", "ES_JAVA_OPTS", "ES_JAVA_HOME",
         "/usr/share/elasticsearch/jdk"},
        {"opensearch", "OPENSEARCH_PATH_CONF", "/etc/opensearch", "OPENSEARCH_JAVA_OPTS",
         "OPENSEARCH_JAVA_HOME", "/usr/share/opensearch/jdk"},
};

typedef struct Search {
        Arena *arena;
        const EngineTarget *target;
        const Sources *sources;
        const UnitFile *unit; /* NULL: not known */
        const Product *product;
        JvmOptions options; /* in the order in which the virtual machine takes them */
        Gathered *ret;
} Search;

static const char *environment(const Search *search, const char *variable,
                               const char **ret_origin) {
        const char *value = unit_file_environment(search->arena, search->unit, search->sources,
                                                  variable, ret_origin);

        return value && *value ? value : NULL;
}

static const Product *find_product(const Search *search) {
        for (size_t i = 0; i < ARRAY_LEN(products); i++)
                if (search->unit && (text_starts_with(search->unit->name, products[i].unit) ||
                                     environment(search, products[i].directory_variable, NULL)))
                        return &products[i];
        return NULL;
}

/* ---- the version ---- */

static bool is_java(const char *path) {
        return text_equals(path, "java") || text_ends_with(path, "/java");
}

/* The command lines that start the service, taken apart. */
static UnitWords start_words(const Search *search) {
        const char *start = unit_file_value(search->unit, "Service", "ExecStart");

        return start ? unit_file_command(search->arena, search->unit, search->sources, start)
                     : (UnitWords){};
}

/* "/usr/bin/java" -> "/usr/lib/jvm/java-17-openjdk-amd64", by way of /etc/alternatives. */
static const char *home_of_program(const Search *search, const char *path) {
        const char *target;

        for (int i = 0;
             i < LINKS_MAX && (target = source_link(search->sources, search->arena, path)); i++)
                path = source_relative(search->arena, path, target);
        return text_ends_with(path, "/bin/java")
                       ? arena_strndup(search->arena, path, strlen(path) - strlen("/bin/java"))
                       : NULL;
}

/* Where the unit does not tell, that of /usr/bin/java, which a script need not start: *RET_IS_SURE is false. */
static const char *find_java_home(const Search *search, bool *ret_is_sure) {
        const Product *product = search->product;
        UnitWords words = start_words(search);
        const char *home = product ? environment(search, product->java_variable, NULL) : NULL;

        *ret_is_sure = true;
        if (product)
                return home ? home : product->java;
        if (words.n > 0 && *words.items[0] == '/' && is_java(words.items[0]))
                return home_of_program(search, words.items[0]);
        home = environment(search, "JAVA_HOME", NULL);
        *ret_is_sure = home != NULL;
        return home ? home : home_of_program(search, "/usr/bin/java");
}

/* JAVA_VERSION="17.0.9" in HOME/release; a sure one is a setting of the formula. */
static void find_version(Search *search) {
        static const char key[] = "JAVA_VERSION=\"";
        Arena *arena = search->arena;
        Gathered *ret = search->ret;
        bool is_sure;
        const char *home = find_java_home(search, &is_sure);

        if (!home || *home != '/')
                return;
        const char *path = arena_printf(arena, "%s/release", home);
        SourceText text = source_read(search->sources, arena, path);
        SourceLines lines = source_lines(&text);
        const char *line;

        while (!ret->version && (line = source_line(arena, &lines)))
                if (text_starts_with(line, key) && jvm_major_version(line + strlen(key)) > 0)
                        ret->version = arena_strndup(arena, line + strlen(key),
                                                     strspn(line + strlen(key), "0123456789._+-"));
        if (ret->version && is_sure)
                settings_add(arena, &ret->settings, "server_version", ret->version,
                             source_origin(arena, path, lines.number));
}

/* ---- files ---- */

/* A file that PATH names, by ORIGIN (NULL: the configuration). */
static const char *read_text(Search *search, const char *path, const char *origin,
                             SourceText *ret) {
        Arena *arena = search->arena;

        *ret = source_read(search->sources, arena, path);
        const char *wrong = ret->error < 0               ? strerror(-ret->error)
                            : ret->size > FILE_BYTES_MAX ? "it is too large for a file of options"
                            : memchr(ret->text, '\0', ret->size) ? "it is no text file"
                                                                 : NULL;

        return wrong ? arena_printf(arena, "%s%s%s cannot be read: %s", origin ? origin : "",
                                    origin ? ": " : "", path, wrong)
                     : NULL;
}

static const char *add_arguments(Search *search, const char *path, const char *origin) {
        SourceText text;
        const char *wrong = read_text(search, path, origin, &text);

        if (!wrong)
                jvm_options_read_arguments(search->arena, &text, path, &search->options);
        return wrong;
}

static const char *add_lines(Search *search, const char *path) {
        const char *version = search->ret->version;
        SourceText text;
        const char *wrong = read_text(search, path, NULL, &text);

        if (!wrong)
                jvm_options_read_lines(search->arena, &text, path,
                                       version ? jvm_major_version(version) : 0, &search->options,
                                       &search->ret->problems);
        return wrong;
}

/* A file of options, then those in the directory that is called after it: jvm.options.d. */
static const char *add_options_files(Search *search, const char *path) {
        Arena *arena = search->arena;
        const char *directory = arena_printf(arena, "%s.d", path);
        SourceNames names = source_list(search->sources, arena, directory);
        const char *wrong = add_lines(search, path);

        for (size_t i = 0; i < names.n && !wrong; i++)
                if (text_ends_with(names.items[i], ".options"))
                        wrong = add_lines(search,
                                          arena_printf(arena, "%s/%s", directory, names.items[i]));
        return wrong;
}

static const char *add_config_file(Search *search) {
        const Product *product = search->product;
        const char *path = search->target->config_file;

        if (!path && product) {
                const char *directory = environment(search, product->directory_variable, NULL);

                path = arena_printf(search->arena, "%s/jvm.options",
                                    directory ? directory : product->directory);
        }
        search->ret->config_file = path;
        if (!path)
                return NULL;
        return text_ends_with(path, ".options") ? add_options_files(search, path)
                                                : add_arguments(search, path, NULL);
}

/* ---- command lines and variables ---- */

static void add_variable(Search *search, const char *variable) {
        const char *origin = NULL, *value = environment(search, variable, &origin);

        if (value)
                jvm_options_read_variable(search->arena, value, origin, &search->options);
}

/* Options of the launcher whose value is a word of its own. */
static bool takes_next(const char *word) {
        static const char *const options[] = {
                "-cp",
                "-classpath",
                "--class-path",
                "-p",
                "--module-path",
                "--upgrade-module-path",
                "--add-modules",
                "--limit-modules",
                "--add-reads",
                "--add-exports",
                "--add-opens",
                "--patch-module",
                "--enable-native-access",
                "--source",
        };

        for (size_t i = 0; i < ARRAY_LEN(options); i++)
                if (text_equals(word, options[i]))
                        return true;
        return false;
}

static bool ends_options(const char *word) {
        return *word != '-' || text_equals(word, "-jar") || text_equals(word, "-m") ||
               text_equals(word, "--module");
}

/* "@FILE" below the unit's working directory. "@@" begins what is no file. */
static const char *add_argument_file(Search *search, const char *word, const char *origin) {
        const UnitAssignment *directory =
                unit_file_find(search->unit, "Service", "WorkingDirectory");
        const char *below = directory ? directory->value + (*directory->value == '-') : "";

        if (word[1] == '@')
                return NULL;
        return add_arguments(search,
                             word[1] == '/' ? word + 1
                                            : arena_printf(search->arena, "%s/%s",
                                                           *below == '/' ? below : "", word + 1),
                             origin);
}

/* What java itself gets, up to the class or archive, whose arguments are its own. */
static const char *add_java_words(Search *search, const UnitWords *words, const char *origin) {
        const char *wrong = NULL;

        for (size_t i = 1; i < words->n && !wrong; i++) {
                const char *word = words->items[i];

                if (*word == '@')
                        wrong = add_argument_file(search, word, origin);
                else if (ends_options(word))
                        break;
                else if (takes_next(word))
                        i++;
                else
                        *vec_push(search->arena, &search->options) = (JvmOption){word, origin};
        }
        return wrong;
}

static const char *add_unit(Search *search) {
        static const char *const of_scripts[] = {"JAVA_OPTS", "CATALINA_OPTS", "JVM_OPTS"};
        UnitWords words = start_words(search);

        if (words.n == 0)
                return NULL;
        const UnitAssignment *start = unit_file_find(search->unit, "Service", "ExecStart");
        const char *origin = source_origin(search->arena, start->file, start->line);

        if (is_java(words.items[0]))
                return add_java_words(search, &words, origin);
        /* A script gets options for Java among its own words, or within a line for a shell. */
        JvmOptions found = {};

        for (size_t i = 1; i < words.n; i++)
                jvm_options_read_variable(search->arena, words.items[i], origin, &found);
        VEC_FOREACH(option, &found)
                if (text_starts_with(option->text, "-X"))
                        *vec_push(search->arena, &search->options) = *option;
        for (size_t i = 0; i < ARRAY_LEN(of_scripts); i++)
                add_variable(search, of_scripts[i]);
        return NULL;
}

/* In the virtual machine's order, in which the last one counts: JAVA_TOOL_OPTIONS, the launcher's
 * JDK_JAVA_OPTIONS, the command line, _JAVA_OPTIONS (arguments.cpp, java(1)). */
static const char *add_options(Search *search) {
        const char *wrong;

        if (search->product) {
                wrong = add_config_file(search);
                add_variable(search, search->product->options_variable);
                return wrong;
        }
        add_variable(search, "JAVA_TOOL_OPTIONS");
        add_variable(search, "JDK_JAVA_OPTIONS");
        wrong = add_config_file(search);
        if (!wrong)
                wrong = add_unit(search);
        add_variable(search, "_JAVA_OPTIONS");
        return wrong;
}

/* ---- what is missing ---- */

static const char *check_settings(const Search *search) {
        const Settings *settings = &search->ret->settings;
        const char *unit = search->target->unit, *file = search->ret->config_file;
        const char *place = file ? file : unit;

        if (!place)
                return "nothing says where Java's options stand; write Unit=, or ConfigFile= "
                       "(jvm.options, or an argument file)";
        if (!settings_find(settings, "UseLargePages") &&
            !settings_find(settings, "UseTransparentHugePages"))
                return arena_printf(
                        search->arena,
                        "%s: there is no -XX:+UseLargePages, without which Java takes no "
                        "reserved huge pages; add it, or remove this instance",
                        place);
        if (!settings_find(settings, "Xmx"))
                return arena_printf(search->arena,
                                    "%s: there is no -Xmx, so that the heap depends on the host's "
                                    "memory; write one such as -Xmx31g",
                                    place);
        return NULL;
}

static const char *gather_jvm(Arena *arena, const EngineTarget *target, const Sources *sources,
                              Gathered *ret) {
        Search search = {
                .arena = arena,
                .target = target,
                .sources = sources,
                .unit = target->unit ? unit_file_read(arena, sources, target->unit) : NULL,
                .ret = ret,
        };

        ret->problems = diags_in(arena);
        ret->user = target->user ? target->user : unit_file_value(search.unit, "Service", "User");
        search.product = find_product(&search);
        find_version(&search);
        const char *wrong = add_options(&search);

        if (wrong)
                return wrong;
        jvm_options_settings(arena, &search.options, &ret->settings);
        return check_settings(&search);
}

const EngineReader reader_jvm = {.gather = gather_jvm};
