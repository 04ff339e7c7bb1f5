import os
import shutil

import lit.formats

config.name = "Decant"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "CAPI", "Install", "Spec", "Inputs", "data"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.decant_obj_root, "test")
config.substitutions.append(("%src", config.decant_src_root))
config.substitutions.append(("%bin", os.path.join(config.decant_obj_root, "bin")))
config.substitutions.append(("%data", os.path.join(config.test_source_root, "data")))

path = [os.path.join(config.decant_obj_root, "bin"), config.llvm_tools_dir, config.environment["PATH"]]
# ptxas is optional: the tests that assemble PTX ask for the feature.
for folder in ("/usr/local/cuda/bin",):
    if os.path.exists(os.path.join(folder, "ptxas")):
        path.append(folder)
config.environment["PATH"] = os.pathsep.join(path)
if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")
# Tests must neither use nor fill the user's cache.
config.environment["DECANT_TUNING_DIR"] = os.path.join(config.test_exec_root, "tuning")
config.environment["DECANT_SITE_TUNING_DIR"] = os.path.join(config.test_exec_root, "tuning")
config.environment["DECANT_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
