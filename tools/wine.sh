#!/usr/bin/env bash
# Runs the tests of what asks for the system as Windows programs, under Wine, from the root of a checkout:
#
#   bash tools/wine.sh [ARGUMENTS OF cargo test]          apt-get install wine64 gcc-mingw-w64-x86-64-win32
#   bash tools/wine.sh run PROGRAM.exe [ARGUMENTS]        a program, such as that of deploy/release/build.sh
#
# Wine before 9 has no bcryptprimitives.dll, which programs of Rust take random bytes from: one is made of what it has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

have() { command -v "$1" >/dev/null 2>&1; }
die() { printf 'error: %s\n' "$1" >&2; exit 1; }
wine=$(command -v wine64 || command -v wine) || die "wine is missing: apt-get install wine64"
have x86_64-w64-mingw32-gcc || die "no C compiler for Windows: apt-get install gcc-mingw-w64-x86-64-win32"

export WINEPREFIX=${WINEPREFIX:-$PWD/target/wine} WINEDEBUG=${WINEDEBUG:--all}
library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
if [ ! -e "$library" ]; then
    mkdir -p "$WINEPREFIX"
    "$wine" wineboot --init >/dev/null 2>&1 || true
    source=$(mktemp --suffix .c)
    trap 'rm -f "$source"' EXIT
    cat >"$source" <<'C'
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    while (count > 0) {
        ULONG part = count > 65536 ? 65536 : (ULONG)count;
        if (!SystemFunction036(bytes, part)) return FALSE;
        bytes += part;
        count -= part;
    }
    return TRUE;
}
C
    [ -e "$library" ] || x86_64-w64-mingw32-gcc -O2 -shared -o "$library" "$source" -ladvapi32
fi

if [ "${1:-}" = run ]; then
    shift
    exec "$wine" "$@"
fi
target=x86_64-pc-windows-gnu
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
exec cargo test --locked --target "$target" --package platform --package observe --lib "$@"
