#!/bin/sh
# SPDX-License-Identifier: MIT
# make ptx-coverage: ptx_coverage over the libraries of the CUDA toolkit and
# of NVIDIA's Python packages. run.sh PROGRAM [option... FILE|FOLDER...]
#
# --run: instead, kernels of them are run on the CPU device, and what they
# leave in memory is compared with what an NVIDIA GPU left. Options are then
# --each, --seed and those of run_kernels (--all).
set -eu
program=$1
here=$(dirname "$0")
shift

# Libraries one by one, to run kernels of: NCCL's wait for other devices.
libraries() {
    find "$1" -maxdepth 1 -type f \( -name '*.so*' -o -name '*.a' \) \
        ! -name 'libnccl*' | sort
}

run= named= each=120 options=
while [ $# -gt 0 ]; do
    case $1 in
    --run) run=yes ;;
    --each) each=$2 && shift ;;
    /* | ./* | ../*) named="$named $1" ;;
    *) options="$options $1" ;;
    esac
    shift
done
if [ -z "$named" ]; then
    for folder in /usr/local/cuda/lib64 $(python3 - <<'END' 2>/dev/null || :
import glob, site
for base in site.getsitepackages() + [site.getusersitepackages()]:
    print("\n".join(glob.glob(base + "/nvidia/*/lib")))
END
    ); do
        [ -d "$folder" ] && named="$named $folder"
    done
    [ -n "$named" ] || { echo "no CUDA toolkit here; name files" >&2; exit 1; }
fi
if [ -z "$run" ]; then
    exec "$program" $options $named
fi
files=
for path in $named; do
    if [ -d "$path" ]; then
        files="$files $(libraries "$(readlink -f "$path")")"
    else
        files="$files $path"
    fi
done
pack=$(dirname "$program")/kernels.pack
"$program" --pack "$pack" --each "$each" $files
answers=$here/nvidia-sm90-580.answers
[ -f "$answers" ] && options="$options --answers $answers"
exec "$(dirname "$program")/run_kernels" --need 1000 $options "$pack"
