#!/usr/bin/env bash
# Compiles every public header alone (included twice) in every language version that it promises, strictly, by every
# compiler that is there, also with short enums; then the smallest plugin that the headers' comments describe.
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

for header in "$include"/switchyard/*.h; do
  name=$(basename "$header" .h)
  printf '#include "switchyard/%s.h"\n' "$name" "$name" >"$work/$name.c"
  echo "int use_of_$name(void); int use_of_$name(void) { return 0; }" >>"$work/$name.c"
  cp "$work/$name.c" "$work/$name.cpp"
done
for header in "$include"/switchyard/cpp/*.hpp; do
  grep -qE '#include <(ATen|torch|c10)/' "$header" && continue # the plugins that use it compile it
  name=$(basename "$header" .hpp)
  printf '#include "switchyard/cpp/%s.hpp"\n' "$name" "$name" >"$work/$name.cxx"
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
  for std in c99 c11 c17 'c99 -fshort-enums'; do
    compile "$c" -std=$std -Wstrict-prototypes -Wc++-compat -fsyntax-only "$work"/*.c
  done
  for std in c++11 c++14 c++17 c++20 'c++11 -fshort-enums'; do
    compile "$cpp" -std=$std -fsyntax-only "$work"/*.cpp
  done
  compile "$cpp" -std=c++20 -fsyntax-only "$work"/*.cxx
  for language in "$c -std=c99" "$cpp -std=c++11 -x c++"; do
    compile $language -shared -fPIC "$work/smallest.c" -o "$work/smallest.so"
    if ! grep -aqE 'abi=[0-9.]+;(.*;)?id=org.example.smallest' "$work/smallest.so"; then
      echo "FAILED: $language: no note in the smallest plugin"
      failed=1
    fi
  done
done
exit $failed
