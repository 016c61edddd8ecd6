#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rooms from base to render are pure: their libraries call no function for files, time, the environment or output;
time, randomness and the host are arguments. And directories are read by one function, which distinguishes an error from
the end (host/root.c); no program calls another one.

usage: check_pure.py NM CC LIBRARY.A... -- PROGRAM...
"""

from __future__ import annotations

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Whole names (glibc's variants of them, as __fprintf_chk or open64, are cut down to these first).
DENIED = re.compile(
    r"""^(
    open|openat|openat2|creat|close|read|pread|readv|write|pwrite|writev|lseek|ioctl|fcntl|dup\d?|pipe\d?
    |stat|fstat|lstat|fstatat|statx|access|faccessat|unlink|unlinkat|rename|renameat\d?|mkdir|mkdirat
    |rmdir|symlink|symlinkat|readlink|readlinkat|link|chmod|fchmod|chown|truncate|ftruncate|mmap|sendfile
    |opendir|fdopendir|readdir|closedir|nftw|glob|mkstemp|mkdtemp|tmpfile|inotify_\w+|eventfd\w*
    |fopen|fdopen|freopen|fclose|fread|fwrite|fgets|fgetc|getc|getline|getdelim|fseek|fflush|ferror
    |printf|fprintf|vprintf|vfprintf|dprintf|vdprintf|puts|fputs|putchar|putc|fputc|perror|std(in|out|err)
    |scanf|fscanf|sscanf|atoi|atol|atoll|strto(l|ul|ll|ull|d|f|ld|imax|umax)
    |getenv|secure_getenv|setenv|putenv|unsetenv|environ|setlocale
    |time|gettimeofday|clock|clock_\w+|localtime\w*|gmtime\w*|mktime|strftime|nanosleep|sleep|usleep
    |rand|srand|random|srandom|drand48|getrandom|getentropy|arc4random\w*
    |getpid|getppid|getuid|geteuid|getgid|gethostname|uname|sysconf|sysinfo|getrlimit|getauxval
    |fork|vfork|exec\w*|posix_spawn\w*|system|popen|wait|waitpid|kill|raise|exit|_exit|_Exit|atexit
    |signal|sigaction|pthread_\w+|syscall|prctl
    |socket|bind|listen|accept\d?|connect|send\w*|recv\w*|poll|ppoll|select|epoll_\w+
    |syslog|vsyslog|openlog|sd_\w+
    |json_(load|dump)(f|fd|_file|_callback)|json_load_file|json_dump_file
    |ini_parse|ini_parse_file
    )$""",
    re.VERBOSE,
)

# memory.c prints an error and ends the process when memory is exhausted; number.c parses numbers.
ALLOWED = {"libbase.a": {"exit", "fwrite", "stderr", "strtod", "strtoull"}}
READS = re.compile(r"readdir(64)?(_r)?|scandir(at)?(64)?|glob(64)?|n?ftw(64)?|fts_\w+")
PLAIN = re.compile(r"^_*(isoc\d+_)?(?P<name>.+?)(64)?(_chk|_2)?(@.*)?$")


def undefined_symbols(nm: str, archive: pathlib.Path) -> set[str]:
    text = subprocess.run([nm, "--undefined-only", str(archive)], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines() if line.split()[:1] == ["U"]}


def denied(symbols: set[str], what: re.Pattern[str] = DENIED) -> list[str]:
    found = []
    for symbol in sorted(symbols):
        match = PLAIN.match(symbol)
        name = match["name"] if match else symbol
        if what.fullmatch(name) or what.fullmatch(symbol):
            found.append(symbol)
    return found


def self_test(nm: str, cc: str) -> None:
    """A file that calls a denied function is noticed, and another one passes."""
    cases = {
        "int f(int x) { return __builtin_popcount(x); }": False,
        "#include <stdio.h>\nint f(char *b) { return snprintf(b, 4, \"%d\", 7); }": False,
        "#include <stdio.h>\nint f(int x) { return printf(\"%d\", x); }": True,
        "#include <stdio.h>\nint f(int x) { return fprintf(stderr, \"%d\", x); }": True,
        "#include <stdlib.h>\nchar *f(void) { return getenv(\"HOME\"); }": True,
        "#include <fcntl.h>\nint f(void) { return open(\"/\", O_RDONLY); }": True,
        "#include <time.h>\nlong f(void) { return (long) time(0); }": True,
        "#include <stdlib.h>\nlong f(const char *s) { return strtol(s, 0, 10); }": True,
        "#include <dirent.h>\nvoid *f(DIR *d) { return readdir(d); }": True,
    }
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "t.c"
        for options in (["-O0"], ["-O2", "-D_FORTIFY_SOURCE=2", "-D_FILE_OFFSET_BITS=64"]):
            for text, is_bad in cases.items():
                source.write_text(text)
                subprocess.run([*shlex.split(cc), *options, "-c", str(source), "-o", f"{directory}/t.o"],
                               check=True, capture_output=True)
                found = denied(undefined_symbols(nm, pathlib.Path(directory) / "t.o"))
                if bool(found) != is_bad or bool(denied(set(found), READS)) != ("dirent" in text):
                    sys.exit(f"self-test: {found or 'nothing'} found with {options} in:\n{text}")


def main() -> list[str]:
    nm, cc, *files = sys.argv[1:]
    self_test(nm, cc)
    problems = []
    programs = files[files.index("--") + 1:]
    for program in programs:
        symbols = undefined_symbols(nm, pathlib.Path(program))
        problems += [f"{program}: {symbol}() takes a failure for the end of a directory; see root_list()"
                     for symbol in denied(symbols, READS)]
        if not any(symbol.startswith("getdents64") for symbol in symbols):
            problems.append(f"{program}: no getdents64(): is this the program?")
    for archive in map(pathlib.Path, files[:files.index("--")]):
        symbols = undefined_symbols(nm, archive)
        if not symbols:
            problems.append(f"{archive}: no undefined symbols at all; is this the library?")
        allowed = ALLOWED.get(archive.name, set())
        problems += [f"{archive}: a pure room must not use {symbol}()"
                     for symbol in denied(symbols) if PLAIN.match(symbol)["name"] not in allowed]
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
