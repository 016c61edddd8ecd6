/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's reader: knows which of the product's servers exist on a host, finds its own files, takes its settings from
 * them, and knows what to ask its programs. */

#include "base/diag.h"
#include "engines/formula.h"
#include "read/source.h"

/* The server whose size is wanted: where an [Instance] says that its database is. */
typedef struct EngineTarget {
        const char *instance;    /* its name; NULL: none yet */
        const char *unit;        /* NULL: not known */
        const char *config_file; /* ConfigFile=; NULL: the engine's default */
        bool is_alone; /* only that file is read: it may belong to a server of another host */
        const char *data_directory; /* DataDirectory=; NULL: the engine's default */
        const char *user;         /* User=; NULL: the owner of the data directory, or of the unit */
        unsigned n_cpus;          /* of the host; 0: not known */
        uint64_t base_page_bytes; /* of the host; 0: not known */
        /* The running server's arguments, used instead of the unit and its files; NULL: not known. */
        const SourceNames *arguments;
} EngineTarget;

/* What a product's own configuration contains. */
typedef struct Gathered {
        Settings settings; /* with origins, in the order in which the product reads them */
        /* Findings that do not stop the reading: a missing included file, a unit that passes options. Errors are
         * returned by the function instead. */
        Diags problems;
        const char *version;        /* "15.18", or the part of it that the files give; NULL: none */
        const char *data_directory; /* as found; NULL: not found */
        const char *config_file;    /* the main file; NULL: none */
        bool is_read; /* a settings file, or a command line with settings, was read: others are defaults */
        const char *user; /* the user that runs the server; NULL: not known */
        /* The settings that a command line gives, which must be passed to a program that is asked. */
        Settings options;
        const char *program;    /* the server's, if the unit names it; NULL: not known */
        const char *untrusted;  /* why no program may be asked with these options; NULL: it may */
        const char *incomplete; /* why there is no size: not all was read; else NULL */
        const char *remedy;     /* what to do about `incomplete`; NULL: the general advice */
} Gathered;

/* The user of a question that needs no rights. */
#define QUESTION_ANYBODY "nobody"

/* A program that reports the exact size. Our own unit before a start and the administrator's programs run it, never the
 * daemon; it runs as QUESTION.user, without a shell. */
typedef struct Question {
        SourceNames program;        /* absolute paths; the first that exists is run */
        SourceNames arguments;      /* without the program's own name */
        const char *user;           /* NULL: the owner of data_directory */
        const char *data_directory; /* NULL: not needed; then user is set */
        const char *untrusted;      /* why it may not be asked; NULL: it may */
} Question;

/* How a server that was given huge pages runs with small pages. */
typedef struct EngineFallback {
        const char *setting; /* the setting that decides; NULL: none */
        const char *values;  /* NULL: any, also if it is not set or not known */
        const char *how;     /* how it runs without huge pages, and what shows that */
        const char *advice;  /* a remedy besides a restart; NULL: none */
        bool is_refusal;     /* it takes no huge pages, even if there are some */
} EngineFallback;

/* Which part of a text an engine uses. */
typedef enum Reads {
        READS_NOT,
        READS_WORD,    /* the word itself */
        READS_SERVER,  /* a database's program, whose options follow */
        READS_VALUE,   /* a name and the value assigned to it */
        READS_NEXT,    /* that, or the next word of a command line */
        READS_REST,    /* that, with the rest of the line */
        READS_PATH,    /* a command and the file that it reads */
        READS_COMMAND, /* a name and the programs that it starts */
} Reads;

/* A range of bytes of a file. */
typedef struct Piece {
        size_t at, size;
        bool is_text; /* all such pieces of a file together are one text, read by words */
} Piece;

typedef VEC(Piece) Pieces;

typedef struct EngineReader {
        /* Adds the units of existing servers, also if only their template has a file. Reads units, and only those of the
         * product's own files that show that a server exists. NULL: its units' names are all that is known. */
        void (*add_units)(const Engine *engine, Arena *arena, const Sources *sources,
                          SourceNames *units);
        /* Returns why the server that TARGET's unit starts does not exist, to follow its name; NULL: it exists, or
         * that is not known. HAS_DISKS: the file systems of its data are mounted. NULL: that is never known. */
        const char *(*find_absent)(const Engine *engine, Arena *arena, const EngineTarget *target,
                                   const Sources *sources, bool has_disks);
        /* Memory=auto: finds and reads the product's own configuration. NULL if the engine has none. Returns NULL, or a
         * sentence (with file and line) that says why the size is not known. Of a file's text only values of known
         * settings are quoted, because the text is not trusted. */
        const char *(*gather)(Arena *arena, const Engine *engine, const EngineTarget *target,
                              const Sources *sources, Gathered *ret);
        /* Sets *ret to the question whose answer is exact. Returns false if there is none; then only the formula gives
         * a size. NULL: there never is one. */
        bool (*ask)(Arena *arena, const Gathered *gathered, uint64_t page_size_bytes,
                    Question *ret);
        /* Sets *ret to the figure in the program's output. Returns NULL, or a sentence that says why there is none. */
        const char *(*answer)(Arena *arena, const Gathered *gathered, const char *output,
                              uint64_t page_size_bytes, Sizing *ret);
        /* The text before the version in the program's output. NULL: it is not asked, its files say enough. */
        const char *version_mark;
        const char *version_programs; /* base names of that program; NULL: add_programs() gives it */
        const char *version_option;   /* precedes "--version"; NULL: none */
        void (*add_programs)(Arena *arena, const Gathered *gathered, SourceNames *ret);
        /* Which part of WORD it uses besides the settings of its formula and the programs of its traits: in its files,
         * in command lines and variables. WORD has no prefix ("--", "+"). NULL: none. */
        Reads (*reads)(const Engine *engine, const char *word);
        const char *whole_files; /* base names of files that it reads in full; NULL: none */
        /* Adds the bytes that it reads of a binary file. NULL: it reads no binary file. */
        void (*pieces)(Arena *arena, const SourceText *file, Pieces *ret);
        /* For engine_is_fixed(). NULL: settings do not make it true. */
        bool (*is_fixed)(const Settings *settings);
        const EngineFallback *fallbacks; /* the first that applies is used */
        size_t n_fallbacks;
        /* The setting that limits how many processes attach the memory; NULL: all threads share one page table. */
        const char *sessions_setting;
        uint64_t sessions_initial; /* its default; 0: not known */
} EngineReader;

/* Never NULL: without a reader all members are NULL. */
const EngineReader *engine_reader(const Engine *engine);

/* Returns how many processes may attach the memory of a server with these settings; 0: not known, or only one. */
uint64_t engine_sessions(const Engine *engine, const Gathered *gathered);

/* Returns what any engine uses of WORD, found in any text. Snapshots leave out text that no engine uses. */
Reads engine_reads(const char *word);
bool engines_read_whole(const char *base_name);
void engines_read_pieces(Arena *arena, const SourceText *file, Pieces *ret);

/* Returns whether a server with SETTINGS, for which its formula has a size, maps all its huge pages at start, and the
 * same number at each start: then the observed size is its size. Always true if the engine maps_all_at_start. */
bool engine_is_fixed(const Engine *engine, const Settings *settings);

/* Reads a settings file on its own, TARGET's config_file, such as `size --from=FILE`: in the product's own format, or
 * as a flat mapping of JSON or YAML, which every engine accepts. Like the `gather` of a reader. */
const char *settings_file_gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                                 const Sources *sources, Gathered *ret);

/* Returns "cannot be read: ..." for the negative errno of reading a file. */
const char *reader_fault(Arena *arena, int error);

/* Returns the line of the first byte that no text file contains; 0: none. */
unsigned reader_binary_line(const char *text, size_t size);

/* ---- files that include others ---- */

/* A line of a file, and how the reader came there. */
typedef struct ReaderPlace {
        const char *path;
        unsigned line;                      /* 0: not within the file */
        const struct ReaderPlace *includer; /* NULL: none */
        unsigned depth;
} ReaderPlace;

/* Returns "FILE:LINE: TEXT". */
const char *reader_refuse(Arena *arena, const ReaderPlace *place, const char *text);

/* Returns why the file of PLACE, the one of number N_FILES, must not be included, or NULL. */
const char *reader_check_include(Arena *arena, const ReaderPlace *place, size_t n_files);

/* ---- versions ---- */

/* Makes the question for ENGINE's version: to the program that the unit starts, else to those of the usual directories.
 * GATHERED may be NULL if the engine does not gather. */
void version_ask(Arena *arena, const Engine *engine, const EngineTarget *target,
                 const Sources *sources, const Gathered *gathered, Question *ret);

/* Sets *ret_version to the version behind MARK in the program's output. It must have at least two numbers, because a
 * single number can be anything. Returns NULL, or a sentence. */
const char *version_answer(Arena *arena, const char *output, const char *mark,
                           const char **ret_version);
