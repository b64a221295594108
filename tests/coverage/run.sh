#!/bin/sh
# SPDX-License-Identifier: MIT
# make ptx-coverage: ptx_coverage over the libraries of the CUDA toolkit and
# of NVIDIA's Python packages. run.sh PROGRAM [option... FILE|FOLDER...]
set -eu
program=$1
shift
named=
for argument; do
    case $argument in
    /* | ./* | ../*) named=yes ;;
    esac
done
if [ -z "$named" ]; then
    for folder in /usr/local/cuda/lib64 $(python3 - <<'END' 2>/dev/null || :
import glob, site
for base in site.getsitepackages() + [site.getusersitepackages()]:
    print("\n".join(glob.glob(base + "/nvidia/*/lib")))
END
    ); do
        [ -d "$folder" ] && set -- "$@" "$folder"
    done
    [ $# -gt 0 ] || { echo "no CUDA toolkit here; name files" >&2; exit 1; }
fi
exec "$program" "$@"
