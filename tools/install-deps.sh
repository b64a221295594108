#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs the Debian packages that Kiln needs and that are missing, and
# nothing else. Offline it succeeds when nothing is missing.
#
#     tools/install-deps.sh [bench] [clang] [format] [fuzz] [llvm19]
#
# The words add what only the benchmark, the clang build, the format check,
# the fuzzers or the LLVM 19 build want.
set -eu

say() {
    echo "install-deps: $*"
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

available() {
    apt-cache show --no-all-versions "$1" >/dev/null 2>&1
}

# first_of PACKAGE...: the first that is installed; else, after the package
# lists are fresh, the first that can be installed; else nothing.
first_of() {
    for p; do
        if installed "$p"; then
            echo "$p"
            return
        fi
    done
    [ -n "$fresh" ] || return 0
    for p; do
        if available "$p"; then
            echo "$p"
            return
        fi
    done
}

wanted="gcc g++ cmake ninja-build pkg-config python3 libc6-dev
    libssl-dev liblz4-dev libzstd-dev libcmocka-dev"
groups="llvm-22-dev|llvm-21-dev|llvm-20-dev|llvm-19-dev
    clang-22|clang-21|clang-20|clang-19"
for word; do
    case $word in
    bench) wanted="$wanted pocl-opencl-icd ocl-icd-opencl-dev opencl-headers" ;;
    clang) wanted="$wanted clang-22" ;;
    format) wanted="$wanted clang-format" ;;
    fuzz) wanted="$wanted clang-22 libclang-rt-22-dev" ;;
    llvm19) wanted="$wanted llvm-19-dev" ;;
    *)
        say "unknown word '$word'; there are: bench clang format fuzz llvm19" >&2
        exit 2
        ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian; the build needs the equivalents of:" $wanted $groups
    exit 0
fi

# find_missing: sets missing, and unmet to the groups of which nothing is
# installed and nothing can be chosen yet.
find_missing() {
    missing=
    unmet=
    for p in $wanted; do
        installed "$p" || missing="$missing $p"
    done
    for g in $groups; do
        p=$(first_of $(echo "$g" | tr '|' ' '))
        if [ -z "$p" ]; then
            unmet="$unmet $g"
        elif ! installed "$p"; then
            missing="$missing $p"
        fi
    done
}

fresh=
find_missing
if [ -z "$missing$unmet" ]; then
    say "nothing is missing"
    exit 0
fi

sudo=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        say "missing:$missing$unmet" >&2
        say "neither root nor sudo: have them installed with apt-get" >&2
        exit 1
    fi
    sudo="sudo"
fi

say "missing:$missing$unmet; reading the package lists"
$sudo apt-get update -qq || say "apt-get update failed; using the old lists" >&2
fresh=1
find_missing
for g in $unmet; do
    say "no package of $g is to be had; going on without" >&2
done
if [ -n "$missing" ]; then
    say "installing:$missing"
    $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $missing </dev/null
fi
