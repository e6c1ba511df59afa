#!/usr/bin/env python3
"""Lets Kubernetes' own Go client of custom metrics read what our server answers.

The program is metrics_client/client_test.go, with modules pinned by go.sum; the bodies are
tests/operator/metricsapi/golden. Ends with 77, aloud, where there is no Go that is new enough.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get(
    "KANTHA_CLUSTER_CACHE", pathlib.Path.home() / ".cache/kantha/kubernetes"))
NEEDED = (1, 26)


def find_go():
    """The Go with which scripts/cluster compiles Kubernetes."""
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go", str(CACHE / "go/bin/go")):
        if not candidate or not os.access(candidate, os.X_OK):
            continue
        text = subprocess.run([candidate, "version"], capture_output=True, text=True,
                              check=False).stdout
        found = re.search(r"go(\d+)\.(\d+)", text)
        if found and (int(found[1]), int(found[2])) >= NEEDED:
            return candidate
    return None


def main():
    go = find_go()
    if go is None:
        print("SKIPPED: there is no Go of version 1.26 or later (scripts/cluster build)")
        sys.exit(77)
    environment = dict(os.environ, GOFLAGS="-mod=readonly", GOTOOLCHAIN="local", GOWORK="off")
    ended = subprocess.run([go, "test", "-count=1", "-vet=off", "-v", "-p", "1", "./..."],
                           cwd=HERE / "metrics_client", env=environment, check=False)
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
