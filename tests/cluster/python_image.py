"""An image of one Python script: the interpreter that runs this, what the script imports, and the
script, made as scripts/images makes those of our programs. For engines that tests make up."""

import importlib.machinery
import importlib.util
import json
import pathlib
import py_compile
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INTERPRETER = pathlib.Path(sys.executable).resolve()
# What is imported only when it is needed.
LATE = "encodings.idna, encodings.latin_1, encodings.ascii, encodings.utf_8, traceback, signal"


def images_script():
    loader = importlib.machinery.SourceFileLoader("images", str(ROOT / "scripts/images"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("images", loader))
    loader.exec_module(module)
    return module


def imported_files(modules):
    """Files of the standard library that `import modules` reads."""
    program = (f"import sys, {LATE}, {modules}, json, os\n"
               "found = {getattr(m, '__file__', None) for m in list(sys.modules.values())}\n"
               "print(json.dumps(sorted(f for f in found | {os.__file__} if f)))")
    run = subprocess.run([INTERPRETER, "-I", "-S", "-X", "frozen_modules=off", "-c", program],
                         stdout=subprocess.PIPE, check=True, timeout=60)
    return [pathlib.Path(path) for path in json.loads(run.stdout)]


def python_layer(images, modules):
    """Modules are there as bytecode only, which needs no time stamps and no time at each start."""
    layer = images.Layer()
    layer.folder("tmp", 0o1777)
    binaries = [INTERPRETER]
    with tempfile.TemporaryDirectory() as folder:
        for path in imported_files(modules):
            if path.suffix != ".py":
                binaries.append(path)
                continue
            compiled = pathlib.Path(folder, "module.pyc")
            py_compile.compile(str(path), str(compiled), doraise=True,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            layer.file(str(path.with_suffix(".pyc")), compiled.read_bytes())
    library = pathlib.Path(json.__file__).parents[1]
    layer.folder(str(library / "lib-dynload").strip("/"))
    for binary in binaries:
        layer.file(str(binary), binary.read_bytes(), 0o755)
        for needed in images.needed_files(binary):
            layer.file(needed, pathlib.Path(needed).read_bytes(), 0o755)
    return layer


def script_images(script, modules, names, out):
    """{name: archive} of images localhost/NAME:dev that run `script` as /usr/bin/NAME."""
    images = images_script()
    layer = python_layer(images, modules)
    made = {}
    for name in names:
        path = f"/usr/bin/{name}"
        layer.file(path, script.read_bytes(), 0o755)
        config = {"User": f"{images.USER}:{images.USER}", "WorkingDir": "/tmp",
                  "Entrypoint": [str(INTERPRETER), "-I", "-S", "-u", path],
                  "Env": ["PATH=/usr/bin"]}
        made[name] = out / f"{name}.tar"
        images.write_image(f"localhost/{name}:dev", layer, config, made[name])
        del layer.entries[path.strip("/")]
    return made
