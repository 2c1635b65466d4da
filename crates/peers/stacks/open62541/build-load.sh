#!/bin/sh
# build-load.sh TARGET: the library with Cargo into TARGET, as build.sh does it, then the load client.
set -eu
out=$(cargo build --release --locked --target-dir "$1" --message-format json |
    sed -n 's/.*open62541-sys.*"out_dir":"\([^"]*\)".*/\1/p')
${CC:-cc} -O2 -Wall -o load load.c -I "$out/include" -L "$out/lib" \
    -lopen62541 -lmbedtls -lmbedx509 -lmbedcrypto -leverest -lp256m -lpthread -lm
