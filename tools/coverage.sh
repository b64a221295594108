#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the tests of the readers in a build with gcc's --coverage, and says of
# each reader how many branches were taken both ways. Fails when a reader of
# images is under 90 %.
#
#     tools/coverage.sh BUILD         the table
#     tools/coverage.sh BUILD FILE    branches of FILE that were not taken
set -eu
cd "$(dirname "$0")/.."
build=$1
least=90

objects() {
    for source; do
        find "$build/$(dirname "$source")" -name "$(basename "$source").gcda"
    done
}

if [ -n "${2:-}" ]; then
    data=$(objects "$2" | sed "s|^$build/||")
    (cd "$build" && gcov -b -c -t -o "$data" "$OLDPWD/$2") 2>/dev/null | awk '
        # A line, then its branches; headers that it includes follow.
        /^ *-: *0:Source:/ { here = index($0, file) > 0 }
        /^ *[0-9#=*-]+: *[0-9]+:/ { line = $0; shown = 0 }
        here && /^branch .*(taken 0|never executed)/ {
            if (!shown++) print line
            print "    " $0
        }' file="$2"
    exit
fi

find "$build" -name '*.gcda' -delete
tools/run-tests.sh "$build" -R '^(test_(image|cache_(entry|key|store)|object|info|half|ptx|walk)|fuzz_|golden_(ptx|inspect|explain|pack))' |
    tail -n 2

bad=0
counted=
# reader NAME LEAST FILE...
reader() {
    name=$1 wanted=$2
    shift 2
    counted="$counted $*"
    objects "$@" | while read -r o; do
        gcov -b -n "$o" 2>/dev/null
    done | awk -v name="$name" -v wanted="$wanted" -v files="$*" '
        /^File / { counts = 0; n = split(files, f, " ")
            for (i = 1; i <= n; i++) if (index($0, "/" f[i] "\047")) counts = 1 }
        counts && /^Lines executed:/ { split($2, p, ":"); lines += $4
            covered += p[2] / 100 * $4 }
        counts && /^Taken at least once:/ { split($4, p, ":"); branches += $6
            taken += p[2] / 100 * $6; counts = 0 } # what follows is a sum
        END {
            share = branches ? 100 * taken / branches : 0
            printf "%-24s %6d lines %6.1f %%   %6d branches %6.1f %%%s\n", name,
                lines, lines ? 100 * covered / lines : 0, branches, share,
                share < wanted ? "   under " wanted " %" : ""
            exit share < wanted
        }' || bad=1
}
reader "fat binary" $least src/image/fatbin.c
reader "fat binary, unpacking" $least src/image/unpack.c
reader "fat binary, writing" $least src/image/fatbin_write.c
# shellcheck disable=SC2046
reader "cubin" $least src/image/elf_view.c $(git ls-files 'src/image/cubin*.c')
reader "PTX header" $least src/image/ptx_header.c src/image/ptx_check.c
reader "host ELF, archive, scan" $least src/image/scan.c \
    src/image/scan_container.c src/image/scan_search.c src/image/places.c \
    src/image/find.c src/image/elf_table.c src/image/elf_memory.c \
    src/image/wrappers.c
reader "guess and extent" $least src/image/guess.c src/image/extent.c
reader "cache entry" $least src/cache/entry.c
reader "object" $least src/image/object_head.c cpu/object/elf.c cpu/object/info.c cpu/object/load.c \
    cpu/object/seal.c
# shellcheck disable=SC2046
reader "PTX" 0 $(git ls-files 'cpu/ptx/*.c')
for f in $(git ls-files 'src/image/*.c'); do
    case " $counted " in
    *" $f "*) ;;
    *) echo "$f is of no reader in $0" && bad=1 ;;
    esac
done
exit $bad
