#!/bin/sh
# SPDX-License-Identifier: MIT
#
# clang-format over the C files under version control; --check only tells.
# Tables (.def) are aligned by hand and left alone.
set -eu
cd "$(dirname "$0")/.."
mode=-i
[ "${1:-}" != --check ] || mode='--dry-run -Werror'
git ls-files '*.c' '*.h' | grep -v '^src/driver/.*_gen\.h$' |
    xargs -r clang-format $mode
