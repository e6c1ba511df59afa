#!/usr/bin/env python3
"""scripts/images: what is in an image, that it can run, and that it is always the same."""

import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ImagesTest(unittest.TestCase):
    """A program of the system stands in for ours: `id`, which says as whom it runs."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "bin").mkdir()
        shutil.copy(shutil.which("id"), self.folder / "bin/kantha-noded")

    def images(self, *arguments, out="out"):
        return subprocess.run([sys.executable, ROOT / "scripts/images", "--bin",
                               self.folder / "bin", "--out", self.folder / out, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              text=True)

    def built(self):
        """(the index's entry, the manifest, the configuration, the layer's tar)"""
        run = self.images("kantha-noded")
        self.assertEqual(run.returncode, 0, run.stderr)
        blobs = {}
        with tarfile.open(self.folder / "out/kantha-noded.tar") as archive:
            for member in archive:
                blobs[member.name] = archive.extractfile(member).read()
        for name, content in blobs.items():
            if name.startswith("blobs/sha256/"):
                self.assertEqual(hashlib.sha256(content).hexdigest(), name.split("/")[-1])

        def blob(description):
            content = blobs[description["digest"].replace("sha256:", "blobs/sha256/")]
            self.assertEqual(len(content), description["size"])
            return content

        entry = json.loads(blobs["index.json"])["manifests"][0]
        manifest = json.loads(blob(entry))
        layer = tarfile.open(fileobj=io.BytesIO(blob(manifest["layers"][0])))
        self.addCleanup(layer.close)
        return entry, manifest, json.loads(blob(manifest["config"])), layer

    def test_the_image_has_the_name_that_pods_ask_for(self):
        entry, _, _, _ = self.built()
        self.assertEqual(entry["annotations"]["io.containerd.image.name"],
                         "localhost/kantha-noded:dev")

    def test_nobody_in_it_is_root_and_nothing_belongs_to_its_user(self):
        _, _, config, layer = self.built()
        self.assertEqual(config["config"]["User"], "65532:65532")
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/bin/kantha-noded"])
        for member in layer:
            self.assertEqual((member.uid, member.mtime), (0, 0), member.name)
            self.assertTrue(member.name == "tmp" or not member.mode & 0o022, member.name)
        self.assertEqual(layer.getmember("tmp").mode, 0o1777)
        self.assertIn(b"65532", layer.extractfile("etc/passwd").read())

    def test_it_holds_certificate_authorities_and_no_shell(self):
        _, _, _, layer = self.built()
        bundle = layer.extractfile("etc/ssl/certs/ca-certificates.crt").read()
        self.assertGreater(bundle.count(b"BEGIN CERTIFICATE"), 50)
        self.assertEqual([n for n in layer.getnames() if n.split("/")[-1] in ("sh", "bash")], [])

    @unittest.skipUnless(os.geteuid() == 0, "only root changes its root folder")
    def test_the_program_runs_with_nothing_but_the_image(self):
        _, _, _, layer = self.built()
        layer.extractall(self.folder / "root")
        run = subprocess.run(["chroot", "--userspec=65532:65532", self.folder / "root",
                              "/usr/bin/kantha-noded"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False, text=True)
        self.assertEqual(run.stdout, "uid=65532(kantha) gid=65532(kantha) groups=65532(kantha)\n")

    def test_the_same_files_give_the_same_bytes(self):
        self.images("kantha-noded")
        os.utime(self.folder / "bin/kantha-noded", (1, 1))
        self.images("kantha-noded", out="again")
        first, again = (self.folder / out / "kantha-noded.tar" for out in ("out", "again"))
        self.assertEqual(first.read_bytes(), again.read_bytes())

    def test_a_label_makes_another_image(self):
        plain = self.images("kantha-noded").stdout
        labelled = self.images("--label", "build=a=b", "kantha-noded").stdout
        self.assertNotEqual(plain.split()[1], labelled.split()[1])

    def test_a_program_that_is_not_built_is_named_with_the_way_to_build_it(self):
        run = self.images("kantha-engine")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"^images: \S+/kantha-engine does not exist; "
                                     r"cmake --build --preset release --target kantha-engine$")

    def test_an_unknown_name_is_refused(self):
        run = self.images("kantha-nodde")
        self.assertEqual(run.returncode, 2)
        self.assertIn("kantha-nodde is none of kantha-noded, kantha-engine", run.stderr)


if __name__ == "__main__":
    unittest.main()
