/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's reader: finds the product's own files below a host and takes its settings from them, and knows
 * what to ask its programs. */

#include "base/diag.h"
#include "engines/formula.h"
#include "engines/units.h"

/* What a product's own configuration says. */
typedef struct Gathered {
        Settings settings; /* with origins, in the order in which the product takes them */
        /* Worth knowing, and no reason to stop: an included file that is missing, a unit that passes
         * options. Errors are returned by the function instead. */
        Diags problems;
        const char *version;        /* "15.18", or as much of it as the files tell; NULL: nothing */
        const char *data_directory; /* as found; NULL: not found */
        const char *config_file;    /* the main file; NULL: there is none */
        bool is_read; /* a file of its settings, or a command line with some: what neither sets has its default */
        const char *user; /* who runs the server; NULL: not known */
        /* Those of the settings that a command line gives: a program that is asked must be told. */
        Settings options;
        const char *program;   /* the server's, where the unit names it; NULL: not known */
        const char *untrusted; /* why no program is to be asked with these options; NULL: it may be */
        const char *incomplete; /* why there may be other settings than these; NULL: all was read */
} Gathered;

/* Asked as whom it does not matter: it needs no rights. */
#define QUESTION_ANYBODY "nobody"

/* A program that knows the size exactly: run by our own unit before a start and by the administrator's
 * programs, never by the daemon, as QUESTION.user, without a shell. */
typedef struct Question {
        SourceNames program;        /* absolute paths, the first that exists counts */
        SourceNames arguments;      /* without the program's own name */
        const char *user;           /* NULL: the owner of data_directory */
        const char *data_directory; /* NULL: none is needed; user is set then */
        const char *untrusted;      /* why it is not to be asked at all; NULL: it may be */
} Question;

/* How a server that was given huge pages comes to run with small ones. */
typedef struct EngineFallback {
        const char *setting; /* that decides; NULL: none */
        const char *values;  /* NULL: any, also where it is not set or not known */
        const char *how;     /* how it goes on without them, and what tells */
        const char *advice;  /* what helps beside a restart; NULL: nothing */
        bool is_refusal;     /* it takes none, whatever there is */
} EngineFallback;

/* What of a text an engine uses. */
typedef enum Reads {
        READS_NOT,
        READS_WORD,    /* the word itself */
        READS_SERVER,  /* a program of a database, whose options follow */
        READS_VALUE,   /* a name, with what is given to it */
        READS_NEXT,    /* that, or the next word of a command line */
        READS_REST,    /* with the rest of the line */
        READS_PATH,    /* a command, with the file that it reads */
        READS_COMMAND, /* a name, with the programs that it starts */
} Reads;

/* Bytes of a file. */
typedef struct Piece {
        size_t at, size;
        bool is_text; /* with all others of the file that are text one that is read by words */
} Piece;

typedef VEC(Piece) Pieces;

typedef struct EngineReader {
        /* Memory=auto: finds and reads the product's own configuration. NULL where the engine has none.
         * Returns NULL, or a sentence (with file and line) on what keeps it from knowing. The
         * text of a file is never quoted beyond the values of known settings: strangers wrote it. */
        const char *(*gather)(Arena *arena, const Engine *engine, const EngineTarget *target,
                              const Sources *sources, Gathered *ret);
        /* The question whose answer is exact; false: there is none, and the formula is all that is to
         * be had. NULL likewise. */
        bool (*ask)(Arena *arena, const Gathered *gathered, uint64_t page_size_bytes,
                    Question *ret);
        /* What the program has printed, as a figure. NULL, or a sentence on why it is none. */
        const char *(*answer)(Arena *arena, const Gathered *gathered, const char *output,
                              uint64_t page_size_bytes, Sizing *ret);
        /* What stands before the version in what the server's program prints. NULL: its files tell all that matters. */
        const char *version_mark;
        const char *version_programs; /* base names of that program; NULL: add_programs() knows it */
        const char *version_option;   /* before "--version"; NULL: none */
        void (*add_programs)(Arena *arena, const Gathered *gathered, SourceNames *ret);
        /* What it uses of WORD, beside the settings of its formula and the programs of its traits: in its own files, in
         * command lines and variables, without what stands before the word ("--", "+"). NULL: nothing. */
        Reads (*reads)(const Engine *engine, const char *word);
        const char *whole_files; /* base names of files that it reads whole; NULL: none */
        /* The bytes of a binary file that it reads. NULL: it reads none. */
        void (*pieces)(Arena *arena, const SourceText *file, Pieces *ret);
        /* For engine_is_fixed(). NULL: never. */
        bool (*is_fixed)(const Settings *settings);
        const EngineFallback *fallbacks; /* the first that fits counts */
        size_t n_fallbacks;
        /* The setting that bounds how many processes attach the memory; NULL: one table serves all threads. */
        const char *sessions_setting;
        uint64_t sessions_initial; /* where it is not set; 0: not known */
} EngineReader;

/* Never NULL: of an engine without one all members are. */
const EngineReader *engine_reader(const Engine *engine);

/* How many processes may attach the memory of a server with what was GATHERED; 0: not known, or there is but one. */
uint64_t engine_sessions(const Engine *engine, const Gathered *gathered);

/* What any engine uses of WORD, which stands in whatever text: what nobody reads is left out of what leaves the host.
  */
Reads engine_reads(const char *word);
bool engines_read_whole(const char *base_name);
void engines_read_pieces(Arena *arena, const SourceText *file, Pieces *ret);

/* Whether a server with SETTINGS, for which its formula has a size, maps all that it will ever take of huge pages when
 * it starts, and as much at each start: then what it was seen to have is what it takes. True of all settings where
 * the engine maps_all_at_start. */
bool engine_is_fixed(const Engine *engine, const Settings *settings);

/* "cannot be read: ..." for the negative errno of reading a file. */
const char *reader_fault(Arena *arena, int error);

/* The line of the first byte that no text file has; 0: there is none. */
unsigned reader_binary_line(const char *text, size_t size);

/* ENGINE's program, asked for its version: the one that the unit starts, else the usual ones. GATHERED may be NULL
 * where the engine does not gather. */
void version_ask(Arena *arena, const Engine *engine, const EngineTarget *target,
                 const Sources *sources, const Gathered *gathered, Question *ret);

/* The version behind MARK in what the program has printed: at least two numbers, for a single one may be
 * anything. NULL, or a sentence. */
const char *version_answer(Arena *arena, const char *output, const char *mark,
                           const char **ret_version);
