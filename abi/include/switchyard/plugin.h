/* switchyard/plugin.h - the one data symbol that a plugin exports, and the note by which the loader knows it before any
 * code of it runs. */
#ifndef SWITCHYARD_PLUGIN_H
#define SWITCHYARD_PLUGIN_H

#if defined(__cplusplus)
#include <cstddef> /* defines _GLIBCXX_USE_CXX11_ABI with libstdc++ */
#endif

#include "backend.h"
#include "base.h"
#include "comm.h"
#include "layer.h"
#include "optimizer.h"
#include "policy.h"
#include "schedule.h"

SY_BEGIN

#define SY_PLUGIN_MAGIC 0x50435953u /* "SYCP" */
#define SY_PLUGIN_SYMBOL "sy_plugin_v1"

/* One thing that a plugin offers: a kind such as SY_KIND_LAYER and its table. Frozen. */
typedef struct sy_export {
  const char *kind;
  const void *table;
} sy_export;

typedef struct sy_plugin {
  uint32_t magic; /* SY_PLUGIN_MAGIC */
  uint32_t size;
  uint32_t abi_major;
  uint32_t abi_minor;
  const char *id;      /* reverse domain name or a short name; unique in the process */
  const char *version; /* the plugin's own */
  const sy_export *exports;
  uint32_t n_exports;
  uint32_t reserved;
  /* The host table is lent for the life of the process. May be called again; later calls do nothing.       [ctl] */
  sy_rc (*attach)(const sy_host *, sy_error **err);
} sy_plugin;

#define SY_STRING_(x) #x
#define SY_STRING(x) SY_STRING_(x)
#if defined(_GLIBCXX_USE_CXX11_ABI)
#define SY_NOTE_CXX ";cxx11abi=" SY_STRING(_GLIBCXX_USE_CXX11_ABI)
#else
#define SY_NOTE_CXX ""
#endif
/* What else the plugin was built against, such as ";torch=2.11;cuda=13.0": define it before including this header. */
#ifndef SY_NOTE_BUILD
#define SY_NOTE_BUILD ""
#endif

/* Writes the ELF note: owner "Switchyard", type 1, text "abi=0.1;cxx11abi=1;...;id=...". The loader reads it before
 * dlopen. Use once per plugin, outside any function:   SY_PLUGIN_NOTE("org.example.mlp")                            */
#define SY_PLUGIN_NOTE(plugin_id)                                                                                   \
  __asm__(".pushsection .note.switchyard,\"aR\",%note\n"                                                            \
          ".balign 4\n"                                                                                             \
          ".long 2f-1f\n.long 4f-3f\n.long 1\n"                                                                     \
          "1: .asciz \"Switchyard\"\n2: .balign 4\n"                                                                \
          "3: .asciz \"abi=" SY_STRING(SY_NOTE_MAJOR) "." SY_STRING(SY_NOTE_MINOR) SY_NOTE_CXX SY_NOTE_BUILD ";id=" plugin_id \
          "\"\n4: .balign 4\n"                                                                                      \
          ".popsection\n")
/* The same numbers as SY_ABI_MAJOR and SY_ABI_MINOR, without the suffix. */
#define SY_NOTE_MAJOR 0
#define SY_NOTE_MINOR 1

extern SY_EXPORT const sy_plugin sy_plugin_v1; /* defined by plugins only */

SY_END
#endif
