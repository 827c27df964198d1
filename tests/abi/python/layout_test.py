"""The package against the record of the ABI: structs, codes, and a declaration for each function."""
import ctypes
import os
import re
import unittest

from switchyard import Code, _library, _structs, plugin

ABI = os.path.join(os.environ["SWITCHYARD_SOURCE"], "abi")
with open(os.path.join(ABI, "golden", "%d.%d.txt" % _library.ABI)) as file:
    GOLDEN = file.read()
STRUCTS = {
    "sy_view": _structs.View, "sy_device": _structs.Device, "sy_dtype": _structs.DType, "sy_peak": _structs.Peak,
    "sy_runtime_options": _structs.RuntimeOptions, "sy_step_result": _structs.StepResult, "sy_parameter": _structs.ParameterInfo,
    "sy_report": _structs.Report, "sy_train_options": _structs.TrainOptions, "sy_generate_options": _structs.GenerateOptions,
    "sy_bench_options": _structs.BenchOptions, "sy_check_options": _structs.CheckOptions,
    "sy_option": plugin._OptionC, "sy_host": plugin._Host, "sy_cost": plugin._CostC,
    "sy_place_layer": plugin._PlaceLayerC, "sy_place_device": plugin._PlaceDeviceC, "sy_candidate": plugin._CandidateC,
    "sy_evaluation": plugin._EvaluationC, "sy_place": plugin._PlaceC, "sy_placed": plugin._PlacedC,
    "sy_policy_api": plugin._PolicyC, "sy_export": plugin._ExportC, "sy_plugin": plugin._PluginC,
}
TYPES = {"uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16, "int32_t": ctypes.c_int32, "sy_rc": ctypes.c_int32,
         "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double}


class Layout(unittest.TestCase):
    def test_every_field_lies_where_the_headers_have_it(self):
        for name, struct in STRUCTS.items():
            recorded = re.findall(rf"^struct {name} +(\d+): (\w+): (.*)$", GOLDEN, re.M)
            ours = [(getattr(struct, field[0]).offset, field[0].rstrip("_")) for field in struct._fields_]
            self.assertEqual(ours, [(int(offset), field) for offset, field, _ in recorded], name)
            for (_, kind), (_, field, written) in zip(struct._fields_, recorded):
                if written in TYPES:
                    self.assertIs(kind, TYPES[written], f"{name}.{field}")

    def test_codes(self):
        recorded = {k: int(v) for k, v in re.findall(r"^constant SY_E_(\w+) = (\d+)$", GOLDEN, re.M)}
        self.assertEqual({code.name: code.value for code in Code}, recorded)

    def test_every_function_is_declared(self):
        with open(os.path.join(ABI, "symbols.txt")) as file:
            exported = {line.strip() for line in file if not line.startswith("#")}
        self.assertEqual(set(_library._FALLIBLE) | set(_library._PLAIN), exported)


if __name__ == "__main__":
    unittest.main()
