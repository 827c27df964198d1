#!/usr/bin/env bash
# Compiles every public header alone (included twice), all of them together in every language version that they promise and
# with short enums, and the smallest plugin; strictly, by every compiler that is there.
set -uo pipefail
include=$SWITCHYARD_SOURCE/abi/include
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
failed=0

compile() { # compiler, options and files
  if ! "$@" -pedantic-errors -Wall -Wextra -Werror -I"$include" >"$work/log" 2>&1; then
    echo "FAILED: $*"
    head -20 "$work/log"
    failed=1
  fi
}

mkdir "$work"/{alone,together,sdk}
for header in "$include"/switchyard/*.h; do
  name=$(basename "$header" .h)
  printf '#include "switchyard/%s.h"\n' "$name" "$name" >"$work/alone/$name.c"
  cat "$work/alone/$name.c" >>"$work/together/all.c"
  cp "$work/alone/$name.c" "$work/alone/$name.cpp"
done
echo 'extern int not_empty;' | tee -a "$work"/*/*.{c,cpp} >"$work/log"
cp "$work/together/all.c" "$work/together/all.cpp"
for header in "$include"/switchyard/cpp/*.hpp; do
  grep -qE '#include <(ATen|torch|c10)/' "$header" && continue # the plugins that use it compile it
  name=$(basename "$header" .hpp)
  printf '#include "switchyard/cpp/%s.hpp"\n' "$name" "$name" >"$work/sdk/$name.cpp"
done

cat >"$work/smallest.c" <<'END'
#include "switchyard/plugin.h"
SY_PLUGIN_NOTE("org.example.smallest");
static sy_rc attach(const sy_host *host, sy_error **err) {
  (void)host;
  (void)err;
  return SY_OK;
}
static const sy_export exports[] = {{"sy.nothing/0", 0}};
extern const sy_plugin sy_plugin_v1;
const sy_plugin sy_plugin_v1 = {SY_PLUGIN_MAGIC, sizeof(sy_plugin), SY_ABI_MAJOR, SY_ABI_MINOR, "org.example.smallest", "1.0",
                                exports, 1, 0, attach};
END

for compiler in gcc:g++ clang:clang++; do
  c=${compiler%:*} cpp=${compiler#*:}
  command -v "$c" >/dev/null && command -v "$cpp" >/dev/null || continue
  compile "$c" -std=c99 -Wstrict-prototypes -fsyntax-only "$work"/alone/*.c
  compile "$cpp" -std=c++11 -fsyntax-only "$work"/alone/*.cpp
  for std in c99 c11 c17 'c99 -fshort-enums'; do
    compile "$c" -std=$std -Wstrict-prototypes -Wc++-compat -fsyntax-only "$work/together/all.c"
  done
  for std in c++11 c++14 c++17 c++20 'c++11 -fshort-enums'; do
    compile "$cpp" -std=$std -fsyntax-only "$work/together/all.cpp"
  done
  compile "$cpp" -std=c++20 -fsyntax-only "$work"/sdk/*.cpp
  for language in "$c -std=c99" "$cpp -std=c++11 -x c++"; do
    compile $language -shared -fPIC "$work/smallest.c" -o "$work/smallest.so"
    if ! grep -aqE 'abi=[0-9.]+;(.*;)?id=org.example.smallest' "$work/smallest.so"; then
      echo "FAILED: $language: no note in the smallest plugin"
      failed=1
    fi
  done
done
exit $failed
