#!/usr/bin/env bash
# Makes the files of a release, from the root of a checkout: docs/releases.md.
#
#   bash deploy/release/build.sh [TARGET…]
#
# TARGET: x86_64-unknown-linux-musl (if none is named), aarch64-unknown-linux-musl, x86_64-pc-windows-gnu.
#   LEVEL    how well it is compressed, 1 to 9 [9]
#   OUT      the folder, which is made anew     [target/dist]
#   PROGRAM  a program that is built already; then one TARGET
#   MAKER    a program for this machine that writes completions and manual pages for a TARGET that does not run here
#            [the one of the first TARGET that does]
#   ZIG      how Zig is called, for aarch64 [zig, or python3 -m ziglang, where aarch64-linux-musl-gcc is missing]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=deploy/release

say() { printf '%s\n' "$*" >&2; }
die() {
    say "error: $1"
    shift
    for hint in "$@"; do say "  try: $hint"; done
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

out=${OUT:-target/dist}
level=${LEVEL:-9}
[[ $level =~ ^[1-9]$ ]] || die "LEVEL=$level is no level" "1 to 9"
# What packages are compressed with.
deb_by=xz rpm_by=xzdio
[ "$level" -gt 1 ] || deb_by=gzip rpm_by=gzdio
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(x86_64-unknown-linux-musl)
[ -z "${PROGRAM:-}" ] || [ ${#targets[@]} -eq 1 ] ||
    die "PROGRAM is of one target, and ${#targets[@]} are named" "name one"
for tool in cargo python3 tar gzip sha256sum git; do
    have "$tool" || die "$tool is missing" "install it"
done
[ ! -e "$out" ] || [ -e "$out/SHA256SUMS" ] || [ -z "$(ls -A "$out")" ] ||
    die "$out is there and no folder of a release" "OUT=another folder"

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
# The same commit makes the same archives, byte by byte, of the same programs.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
git diff --quiet HEAD || say "warning: this checkout has changes that are in no commit"

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
maker=${MAKER:-}
[ -z "$maker" ] || maker=$(realpath "$maker")

# pack NAME: a folder of the work folder as an archive in which only the content matters.
pack() {
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --mtime="@$SOURCE_DATE_EPOCH" \
        -cf - "$1" | gzip -"$level"n >"$out/$1.tar.gz"
}

# How Zig is called, if it is there.
zig_here() {
    local call calls=(zig "python3 -m ziglang")
    [ -z "${ZIG:-}" ] || calls=("$ZIG")
    for call in "${calls[@]}"; do
        if $call version >/dev/null 2>&1; then
            echo "$call"
            return
        fi
    done
    return 1
}

build() {
    local target=$1
    case $target in
        x86_64-unknown-linux-musl)
            have musl-gcc || die "no C compiler for $target" "apt-get install musl-tools"
            # Addresses that are put right at the start take 14 kB instead of 2.6 MB.
            export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-C link-arg=-Wl,-z,pack-relative-relocs" ;;
        aarch64-unknown-linux-musl)
            # Debian has none for musl: one of a cross toolchain, or Zig, which has musl's headers; then Rust's own linker links.
            if [ -z "${ZIG:-}" ] && have aarch64-linux-musl-gcc; then
                export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=aarch64-linux-musl-gcc
            else
                ZIG=$(zig_here) || die "no C compiler for $target" "pip install ziglang, in a virtual environment" "aarch64-linux-musl-gcc, of a cross toolchain"
                export ZIG ZIG_TARGET=aarch64-linux-musl CC_aarch64_unknown_linux_musl=$PWD/$here/zigcc.sh
                export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
            fi ;;
        x86_64-pc-windows-gnu)
            have x86_64-w64-mingw32-gcc || die "no C compiler for $target" "apt-get install gcc-mingw-w64-x86-64-win32" ;;
        *) die "$target is not known here" "x86_64-unknown-linux-musl, aarch64-unknown-linux-musl, x86_64-pc-windows-gnu" ;;
    esac
    cargo build --profile dist --locked --package uaperf --target "$target" >&2
    local end=
    case $target in *windows*) end=.exe ;; esac
    echo "${CARGO_TARGET_DIR:-target}/$target/dist/uaperf$end"
}

# One folder for each: program, pages, completions, licence, parts.
stage() {
    local target=$1 program=$2 end=
    case $target in *windows*) end=.exe ;; esac
    local name=uaperf-$version-$target
    local folder=$work/$name
    mkdir -p "$folder/man" "$folder/completions"
    install -m 755 "$program" "$folder/uaperf$end"
    # Whoever runs here writes the pages.
    if [ -z "$maker" ] && "$folder/uaperf$end" --version >/dev/null 2>&1; then
        maker=$folder/uaperf$end
    fi
    [ -n "$maker" ] || die "no program of $target runs on this machine, so nobody writes its manual pages" \
        "MAKER=target/release/uaperf, or name x86_64-unknown-linux-musl first"
    "$maker" --settings none man "$folder/man" >/dev/null
    local shell
    for shell in bash:uaperf.bash zsh:_uaperf fish:uaperf.fish powershell:_uaperf.ps1 elvish:uaperf.elv; do
        "$maker" --settings none completions "${shell%%:*}" >"$folder/completions/${shell#*:}"
    done
    cp LICENSE README.md CHANGELOG.md "$folder/"
    python3 "$here/parts.py" "$target" >"$folder/uaperf.cdx.json"
    cp "$folder/uaperf.cdx.json" "$out/$name.cdx.json"
    case $target in
        *windows*)
            have zip || die "zip is missing" "apt-get install zip"
            find "$folder" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
            (cd "$work" && TZ=UTC find "$name" -type f | LC_ALL=C sort | zip -qX"$level" "$out/$name.zip" -@) ;;
        *) pack "$name" ;;
    esac
    case $target in *linux*) packages "$target" "$folder" ;; esac
}

# fill FILE NAME=VALUE…: a template with its words filled in.
fill() {
    local file=$1 word text
    text=$(cat "$file")
    shift
    for word in "VERSION=$version" "$@"; do
        text=${text//@${word%%=*}@/${word#*=}}
    done
    ! grep -q '@[A-Z_0-9]*@' <<<"$text" || die "$file: $(grep -o '@[A-Z_0-9]*@' <<<"$text" | head -n 1) has no value"
    printf '%s\n' "$text"
}

# Where Debian and Fedora want them.
packages() {
    local target=$1 folder=$2 root=$work/root-$1
    local deb=amd64 rpm=x86_64
    case $target in aarch64-*) deb=arm64 rpm=aarch64 ;; esac
    install -Dm 755 "$folder/uaperf" "$root/usr/bin/uaperf"
    install -Dm 644 "$folder/completions/uaperf.bash" "$root/usr/share/bash-completion/completions/uaperf"
    install -Dm 644 "$folder/completions/uaperf.fish" "$root/usr/share/fish/vendor_completions.d/uaperf.fish"
    install -Dm 644 "$folder/uaperf.cdx.json" "$root/usr/share/doc/uaperf/uaperf.cdx.json"
    local page
    mkdir -p "$root/usr/share/man/man1"
    for page in "$folder"/man/*.1; do
        gzip -"$level"nc "$page" >"$root/usr/share/man/man1/${page##*/}.gz"
    done
    if have rpmbuild; then
        cp -a "$root" "$work/rpm-$target"
        install -Dm 644 LICENSE "$work/rpm-$target/usr/share/licenses/uaperf/LICENSE"
        install -Dm 644 "$folder/completions/_uaperf" "$work/rpm-$target/usr/share/zsh/site-functions/_uaperf"
        fill "$here/uaperf.spec.in" "ROOT=$work/rpm-$target" >"$work/uaperf.spec"
        rpmbuild -bb --quiet --target "$rpm" --define "_topdir $work/rpmbuild" --define "_rpmdir $out" \
            --define "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm" --define "use_source_date_epoch_as_buildtime 1" \
            --define "clamp_mtime_to_source_date_epoch 1" --define "_buildhost release" --define "_binary_payload w$level.$rpm_by" "$work/uaperf.spec" >&2
    else
        say "left out: uaperf-$version-1.$rpm.rpm, for which rpmbuild is missing (apt-get install rpm)"
    fi
    if have dpkg-deb; then
        install -Dm 644 "$folder/completions/_uaperf" "$root/usr/share/zsh/vendor-completions/_uaperf"
        install -Dm 644 LICENSE "$root/usr/share/doc/uaperf/copyright"
        mkdir -p "$root/DEBIAN"
        gzip -"$level"nc CHANGELOG.md >"$root/usr/share/doc/uaperf/changelog.gz"
        fill "$here/control.in" "ARCHITECTURE=$deb" "KIB=$(du -sk --apparent-size "$root/usr" | cut -f 1)" >"$root/DEBIAN/control"
        chmod -R go=rX,u+rw "$root"
        dpkg-deb --build --root-owner-group -Z"$deb_by" -z"$level" "$root" "$out/uaperf_${version}_$deb.deb" >/dev/null
    else
        say "left out: uaperf_${version}_$deb.deb, for which dpkg-deb is missing"
    fi
}

for target in "${targets[@]}"; do
    say "=== $target"
    program=${PROGRAM:-$(build "$target")}
    [ -f "$program" ] || die "there is no program $program"
    stage "$target" "$program"
done

# What package managers build from.
git archive --format=tar --prefix="uaperf-$version/" --mtime="@$SOURCE_DATE_EPOCH" HEAD 2>/dev/null >"$work/source.tar" ||
    git archive --format=tar --prefix="uaperf-$version/" HEAD >"$work/source.tar"
gzip -"$level"n <"$work/source.tar" >"$out/uaperf-$version-source.tar.gz"
sum() { sha256sum "$1" | cut -d ' ' -f 1; }
fill "$here/uaperf.rb.in" "SHA256=$(sum "$out/uaperf-$version-source.tar.gz")" >"$out/uaperf.rb"
windows=$out/uaperf-$version-x86_64-pc-windows-gnu.zip
if [ -e "$windows" ]; then
    upper=$(sum "$windows" | tr a-f A-F)
    date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)
    for kind in "" .installer .locale.en-US; do
        fill "$here/winget/uaperf.uaperf$kind.yaml.in" "SHA256=$upper" "DATE=$date" >"$out/uaperf.uaperf$kind.yaml"
    done
fi
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
say "=== $out"
cat "$out/SHA256SUMS"
