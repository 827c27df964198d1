/* snake: deals layers to the devices to and fro, 0 1 2 2 1 0 0 1 2 ...: at each turn two neighbours share a device. */
#include <stdlib.h>
#include <switchyard/plugin.h>

struct sy_policy { /* the header leaves it to the plugin */
  int64_t run;
};
static const sy_host* host;

static const sy_option run = {
    sizeof(sy_option), SY_T_I64, "run", "1", 1, 1e6, NULL, NULL, "neighbouring layers dealt at a time"};
static const sy_option* const options[] = {&run};

/* The core has checked the user's table against `options`. */
static sy_rc create(const sy_host* h, const sy_config* table, sy_policy** give, sy_error** err) {
  sy_policy* p = malloc(sizeof *p);
  if (!p) return h->fail(h->self, err, SY_E_NO_MEMORY, "out of host memory");
  const sy_rc rc = h->cfg_i64(table, "run", &p->run, err);
  if (rc == SY_OK)
    *give = p;
  else
    free(p);
  return rc;
}

/* Stages are numbered along the model; several may lie on one device. The core checks the answer and its memory. */
static sy_rc place(sy_policy* p, const sy_place* in, sy_placed* out, sy_error** err) {
  const int64_t n = in->n_devices;
  int32_t stage = -1;
  (void)err;
  for (uint32_t i = 0; i < in->n_layers; ++i) {
    const int64_t turn = i / p->run % (2 * n);
    int32_t device = (int32_t)(turn < n ? turn : 2 * n - 1 - turn);
    if (in->layers[i]->pin >= 0) device = in->layers[i]->pin; /* the user fixed it */
    if (stage < 0 || device != out->device_of_stage[stage]) out->device_of_stage[++stage] = device;
    out->stage_of_layer[i] = stage;
  }
  out->n_stages = (uint32_t)stage + 1;
  host->text_add(out->why, "dealt to and fro");
  return SY_OK;
}

static void destroy(sy_policy* p) { free(p); }

static sy_rc attach(const sy_host* h, sy_error** err) {
  (void)err;
  host = h;
  return SY_OK;
}

static const sy_policy_api table = {
    sizeof table, 0, "snake", "deals layers to the devices to and fro", options, 1, 0, create, place, destroy};
static const sy_export exports[] = {{SY_KIND_POLICY, &table}};
const sy_plugin sy_plugin_v1 = {
    SY_PLUGIN_MAGIC, sizeof(sy_plugin), SY_ABI_MAJOR, SY_ABI_MINOR, "org.example.snake", "1.0", exports, 1, 0, attach};
SY_PLUGIN_NOTE("org.example.snake");
