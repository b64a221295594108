#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: address_space.sh PROGRAM
#
# 10 GB of address space are enough for the device; 5 GB are not, and what
# stands in the way is named.
set -u
(ulimit -v 10000000 && "$1") >/dev/null 2>&1 || {
    echo "does not run with 10 GB of address space"
    exit 1
}
text=$( (ulimit -v 5000000 && "$1") 2>&1)
case $text in
*"ulimit -v"*"5000000 KiB"*) ;;
*)
    echo "the limit is not named: $text"
    exit 1
    ;;
esac
