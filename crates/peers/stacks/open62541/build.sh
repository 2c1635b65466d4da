#!/bin/sh
# build.sh TARGET: the library with Cargo into TARGET, then our programs with the C compiler.
set -eu
# The crate does not tell where its headers are, but Cargo's messages name its output folder.
out=$(cargo build --release --locked --target-dir "$1" --message-format json |
    sed -n 's/.*open62541-sys.*"out_dir":"\([^"]*\)".*/\1/p')
for program in server client pubsub; do
    ${CC:-cc} -O2 -Wall -o "$program" "$program.c" -I "$out/include" -L "$out/lib" \
        -lopen62541 -lmbedtls -lmbedx509 -lmbedcrypto -leverest -lp256m -lpthread -lm
done
