#!/bin/sh
# build-load.sh TARGET PROGRAM: the library with Cargo into TARGET, as build.sh does it, then
# PROGRAM.c.
set -eu
out=$(cargo build --release --locked --target-dir "$1" --message-format json |
    sed -n 's/.*open62541-sys.*"out_dir":"\([^"]*\)".*/\1/p')
${CC:-cc} -O2 -Wall -o "$2" "$2.c" -I "$out/include" -L "$out/lib" \
    -lopen62541 -lmbedtls -lmbedx509 -lmbedcrypto -leverest -lp256m -lpthread -lm
