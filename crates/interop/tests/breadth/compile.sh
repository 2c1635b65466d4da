#!/bin/sh
# compile.sh PROGRAM SOURCE: in the folder of the installed open62541, whose library Cargo has made already.
set -eu
out=$(cargo build --release --locked --target-dir ../cargo --message-format json |
    sed -n 's/.*open62541-sys.*"out_dir":"\([^"]*\)".*/\1/p')
${CC:-cc} -O1 -Wall -o "$1" "$2" -I "$out/include" -L "$out/lib" \
    -lopen62541 -lmbedtls -lmbedx509 -lmbedcrypto -leverest -lp256m -lpthread -lm
