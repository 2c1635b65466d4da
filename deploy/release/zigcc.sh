#!/usr/bin/env bash
# Zig as a C compiler that makes code for another processor, with musl's headers, which it brings: build.sh.
#
#   ZIG='python3 -m ziglang' ZIG_TARGET=aarch64-linux-musl deploy/release/zigcc.sh ARGUMENTS OF A C COMPILER
set -euo pipefail
[ -n "${ZIG:-}" ] && [ -n "${ZIG_TARGET:-}" ] || { echo "error: ZIG and ZIG_TARGET are not set" >&2; exit 1; }
arguments=()
for argument in "$@"; do
    case $argument in
        # Rust's name of the target, which Zig does not know.
        --target=*) ;;
        *) arguments+=("$argument") ;;
    esac
done
# Of several words, such as `python3 -m ziglang`. Its checks of undefined behaviour would need a library of its own.
read -ra zig <<<"$ZIG"
exec "${zig[@]}" cc -target "$ZIG_TARGET" "${arguments[@]}" -fno-sanitize=undefined
