"""The recipes in deploy/: the options that they use exist, and what can be run here is run."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from support.case import NOBODY, SwiprCase

DEPLOY = pathlib.Path(__file__).resolve().parents[3] / "deploy"
HELM = DEPLOY / "helm/swipr-agent"


class DeployTest(SwiprCase):
    def recipes(self):
        return [path for path in DEPLOY.rglob("*") if path.is_file()]

    def test_recipes_use_options_and_variables_that_exist(self):
        help_text = self.swipr("agent", "--help").out.decode()
        used = set()
        for path in self.recipes():
            for command in re.findall(r'(?:swipr agent|"agent",)([^\n]*)', path.read_text()):
                used.update(re.findall(r"--[a-z-]+", command))
        chart = (HELM / "templates/daemonset.yaml").read_text()
        used.update(re.findall(r"^ *- (--[a-z-]+)=", chart, re.M))
        self.assertLessEqual({"--push", "--token-file"}, used)
        for option in used:
            self.assertIn(option, help_text)
        manual = "".join(path.read_text() for path in (DEPLOY.parent / "docs/man").iterdir())
        for path in self.recipes():
            for variable in re.findall(r"SWIPR_[A-Z_]+", path.read_text()):
                self.assertIn(variable.removesuffix("_SLICE"), manual, path)

    def test_the_chart_uses_its_values_and_the_manifest_of_the_agent(self):
        given = set(re.findall(r"^(\w+):", (HELM / "values.yaml").read_text(), re.M))
        templates = "".join(path.read_text() for path in (HELM / "templates").iterdir())
        self.assertEqual(set(re.findall(r"\.Values\.(\w+)", templates)), given)
        manifest = (DEPLOY / "kubernetes/daemonset.yaml").read_text()
        for part in ("securityContext", "volumeMounts"):  # with its deeper lines
            block = re.search(rf"^( *){part}:\n(?:\1 +.*\n)+", manifest, re.M)[0]
            self.assertIn(block, templates)

    def test_the_sidecar_of_the_chart_is_that_of_the_manifest(self):
        """Its lines, in their order, apart from the image and the store."""
        manifest = (DEPLOY / "kubernetes/deployment.yaml").read_text()
        container = re.search(r"        - name: swipr-agent\n(?:          .*\n)+", manifest)[0]
        anchor = re.search(r"&restricted\n((?: {12}.*\n)+)", manifest)[1]
        container = container.replace(" *restricted\n", "\n" + anchor)
        volumes = manifest[manifest.index("      volumes:\n") + len("      volumes:\n"):]
        templates = (HELM / "templates/_program.tpl").read_text()
        for name, wanted in (("container", container), ("volumes", volumes)):
            block = re.search(rf'define "swipr.sidecar.{name}" -}}}}\n(.*?){{{{- end', templates, re.S)[1]
            plain = [re.sub(r'(image:|"--push",) .*', r"\1", line.strip()) for line in block.splitlines()]
            self.assertEqual(plain, [re.sub(r'(image:|"--push",) .*', r"\1", line.strip()) for line in wanted.splitlines()])

    def test_json_is_valid(self):
        for path in self.recipes():
            if path.suffix == ".json":
                json.loads(path.read_text())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_accepts_the_units(self):
        target = self.folder / "units"
        target.mkdir()
        for unit in ("swipr-agent.service", "swipr-agent.user.service"):
            text = (DEPLOY / "systemd" / unit).read_text().replace("/usr/bin/swipr", str(self.program))
            (target / unit).write_text(text)
        (target / "shop.service").write_text("[Service]\nExecStart=/bin/true\n")
        (target / "shop.service.d").mkdir()
        shutil.copy(DEPLOY / "systemd/50-swipr.conf", target / "shop.service.d")
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder)}
        for unit in sorted(target.glob("*.service")):
            manager = "--user" if ".user." in unit.name else "--system"
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", manager, unit], capture_output=True, text=True,
                                  env=environment, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), unit)

    def run_on_a_node(self, *arguments, tools=()):
        """Runs deploy/hadoop/node where only its own files can be changed. `tools`: commands that a cloud has."""
        archive = self.folder / "swipr-0-linux-any"
        if not archive.exists():
            (archive / "bin").mkdir(parents=True)
            (archive / "lib/tmpfiles.d").mkdir(parents=True)
            shutil.copy(DEPLOY.parent / "scripts/archive/install", archive)
            self.script(archive / "bin/swipr", "echo stub")
            shutil.copy(self.preload, archive / "lib")
            shutil.copy(DEPLOY / "tmpfiles.d/swipr.conf", archive / "lib/tmpfiles.d")
            subprocess.run(["tar", "-czf", f"{archive}.tar.gz", "-C", self.folder, archive.name], check=True)
        stubs = self.folder / "stubs"
        stubs.mkdir(exist_ok=True)
        for name, text in (("systemctl", f'echo "$@" >> {self.folder}/systemctl'), *tools):
            self.script(stubs / name, text)
        world = "mount --make-rprivate / && mkdir -p /etc/systemd/system && for place in /usr/local /etc/systemd/system /usr/share; do " \
            f'mount -t tmpfs none $place; done && mkdir /usr/share/google && cp {stubs}/get_metadata_value /usr/share/google/ 2>/dev/null; ' \
            f'"$@" && cp -r /usr/local {self.folder}/local && cp /etc/systemd/system/swipr-agent.service {self.folder}'
        return subprocess.run(["unshare", "-m", "sh", "-c", world, "sh", DEPLOY / "hadoop/node", *arguments], capture_output=True,
                              text=True, env={**os.environ, "PATH": f"{stubs}:/usr/bin:/bin"}, check=False)

    @staticmethod
    def script(path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    @unittest.skipUnless(os.geteuid() == 0, "only root has other files in /etc")
    def test_a_node_of_a_cluster_has_the_library_and_an_agent(self):
        store = "pyroscope+http://store:4040"
        copies = f'cp {self.folder}/swipr-0-linux-any.tar.gz "$5"'  # aws s3 cp --only-show-errors FROM TO
        metadata = 'case "$1" in attributes/swipr-archive) echo gs://bucket/swipr.tar.gz ;; *) echo ' + store + " ;; esac"
        clouds = {"EMR": (("s3://bucket/swipr.tar.gz", store), [("aws", copies)]),
                  "Dataproc": ((), [("gsutil", copies.replace("$5", "$4")), ("get_metadata_value", metadata)])}
        for cloud, (arguments, tools) in clouds.items():
            with self.subTest(cloud):
                done = self.run_on_a_node(*arguments, tools=tools)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue((self.folder / "local/lib/libswipr_preload.so").exists())
                unit = (self.folder / "swipr-agent.service").read_text()
                self.assertIn(f"--push {store}\n", unit)
                self.assertEqual((self.folder / "systemctl").read_text(), "daemon-reload\nenable --now swipr-agent.service\n")
                for path in ("local", "stubs", "systemctl", "swipr-agent.service"):
                    subprocess.run(["rm", "-rf", self.folder / path], check=True)
        done = self.run_on_a_node()
        self.assertEqual((done.returncode, done.stderr), (2, "usage: node ARCHIVE STORE_URL\n"))

    def test_the_agent_takes_the_configuration(self):
        self.start("cat", preloaded=True)
        out = self.folder / "out"
        self.swipr("agent", "--config", DEPLOY / "agent.conf", "--output-dir", out, "--metrics-file", self.folder / "metrics",
                   "--once", "--slice", "1s", "--socket-dir", self.sockets)
        self.assertTrue((out / "last_profile.col").exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root has the capabilities of the system unit")
    def test_the_capabilities_of_the_system_unit_suffice(self):
        names = re.search(r"CapabilityBoundingSet=(.*)", (DEPLOY / "systemd/swipr-agent.service").read_text())[1].split()
        kept = ",".join("+" + name.removeprefix("CAP_").lower() for name in names)
        self.folder.chmod(0o755)
        preload = shutil.copy(self.preload, self.folder)
        os.chown(self.sockets, NOBODY, NOBODY)
        app = shutil.copy(self.target_path("shares_nofp"), self.folder)
        program = self.start("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "/usr/bin/env",
                             f"LD_PRELOAD={preload}", "SWIPR_SERVICE_NAME=shop", app)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        out = self.folder / "out"
        finished = self.start("setpriv", f"--bounding-set=-all,{kept}", f"--inh-caps=-all,{kept}", "--no-new-privs", self.program,
                              "agent", "--once", "--slice", "1s", "--output-dir", out, "--socket-dir", self.sockets).wait()
        self.assertEqual(finished.code, 0, finished)
        (entry,) = json.loads((out / "last_accounts.json").read_text())["processes"]
        self.assertEqual(entry["service"], "shop")
        self.assertGreater(entry["recorded_ns"], 0)
        program.end()


if __name__ == "__main__":
    unittest.main()
