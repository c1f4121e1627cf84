"""The image and the recipe for Kubernetes: what can be said of them without running them."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "cluster.md").read_text()
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ARG", "USER", "EXPOSE", "ENTRYPOINT", "CMD", "ENV"}


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]
    assert {name for name, _ in found} <= INSTRUCTIONS and all(rest for _, rest in found)
    return found


def test_the_image() -> None:
    found = instructions()
    bases = [rest.split()[0] for name, rest in found if name == "FROM"]
    assert found[0] == ("ARG", "BASE=python:3.11-slim") and set(bases) == {"${BASE}"}
    stages = {rest.split(" AS ")[1] for name, rest in found if name == "FROM" and " AS " in rest}
    for name, rest in found:
        if name == "COPY" and "--from=" in rest:
            assert re.findall(r"--from=(\w+)", rest)[0] in stages
        elif name == "COPY":
            *sources, _ = shlex.split(rest)
            assert [source for source in sources if not (ROOT / source).exists()] == []
        elif name == "RUN":
            assert subprocess.run(["sh", "-n", "-c", rest], check=False).returncode == 0, rest
        elif name in ("ENTRYPOINT", "CMD"):
            assert all(isinstance(word, str) for word in json.loads(rest))
    last = [place for place, (name, _) in enumerate(found) if name == "FROM"][-1]
    users = [rest for name, rest in found[last:] if name == "USER"]
    assert users and users[-1] not in ("root", "0"), "it does not run as root"
    (lock,) = (rest.removeprefix("LOCK=") for name, rest in found if rest.startswith("LOCK="))
    assert (ROOT / lock).exists()
    # Nothing is installed that has no hash, also not to build the package.
    for command in re.findall(
        r"pip install ([^&\n]*)", "\n".join(rest for name, rest in found if name == "RUN")
    ):
        assert "--require-hashes" in command or ("--no-deps" in command and "--no-build-isolation" in command)


def test_what_is_sent_to_docker() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for name, rest in instructions():
        if name == "COPY" and "--from=" not in rest:
            assert {source.split("/")[0] for source in shlex.split(rest)[:-1]} <= kept


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """An `aurora` and a `java` that only say how they were called, and the Python of the tests."""
    for name in ("aurora", "java"):
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\necho {name}\nfor word in "$@"; do echo "$word"; done\n')
        path.chmod(0o755)
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def entrypoint(folder: Path, *words: str, **more: str) -> list[str]:
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **more}
    done = subprocess.run(
        ["sh", ROOT / "docker" / "entrypoint", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment,
    )
    return done.stdout.splitlines()


def test_a_container_runs_a_command(bin_folder: Path) -> None:
    assert entrypoint(bin_folder, "run", "a b.yaml") == ["aurora", "run", "a b.yaml"]
    assert entrypoint(bin_folder) == ["aurora"]


def test_a_container_is_an_executor(bin_folder: Path) -> None:
    given = {
        "SPARK_JAVA_OPT_0": "-Da=b c",
        "SPARK_JAVA_OPT_1": "-Dd=e",
        "SPARK_EXECUTOR_MEMORY": "2g",
        "SPARK_CONF_DIR": "/opt/spark/conf",
        "SPARK_DRIVER_URL": "spark://driver",
        "SPARK_EXECUTOR_ID": "1",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_APPLICATION_ID": "app",
        "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "pod",
    }
    jars = Path(pyspark.__file__).parent / "jars"
    assert entrypoint(bin_folder, "executor", **given) == [
        "java", "-Da=b c", "-Dd=e", "-Xms2g", "-Xmx2g", "-cp", f"/opt/spark/conf:{jars}/*",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend", "--driver-url", "spark://driver",
        "--executor-id", "1", "--cores", "2", "--app-id", "app", "--hostname", "10.0.0.1",
        "--resourceProfileId", "0", "--podName", "pod",
    ]  # fmt: skip


def recipe() -> dict[tuple[str, str], Any]:
    """The parts of the recipe, by kind and name."""
    block = re.search(r"^```yaml kubernetes.yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert block is not None
    return {(part["kind"], part["metadata"]["name"]): part for part in yaml.safe_load_all(block[1])}


def test_the_recipe_for_kubernetes() -> None:
    parts = recipe()
    assert all({"apiVersion", "kind", "metadata"} <= part.keys() for part in parts.values())
    settings = parts["ConfigMap", "aurora-doors"]["data"]
    lines = dict(line.split() for line in settings["spark-defaults.conf"].splitlines())
    pod = parts["StatefulSet", "aurora-doors"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert lines["spark.authenticate"] == lines["spark.network.crypto.enabled"] == "true"
    # What is named twice is the same.
    assert lines["spark.kubernetes.driver.pod.name"] == "aurora-doors-0"
    assert lines["spark.kubernetes.container.image"] == container["image"]
    assert ("PersistentVolumeClaim", pod["volumes"][0]["persistentVolumeClaim"]["claimName"]) in parts
    mount = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data"
    assert ("PersistentVolumeClaim", lines[f"{mount}.options.claimName"]) in parts
    assert ("ServiceAccount", pod["serviceAccountName"]) in parts
    assert "/etc/aurora/doors.yaml" in container["args"] and "doors.yaml" in settings
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_the_recipe_allows_no_more_than_it_must() -> None:
    parts = recipe()
    settings = parts["ConfigMap", "aurora-doors"]["data"]
    lines = dict(line.split() for line in settings["spark-defaults.conf"].splitlines())
    # All of it is in a namespace of its own.
    (own,) = (name for kind, name in parts if kind == "Namespace")
    assert own != "default" and lines["spark.kubernetes.namespace"] == own
    assert {part["metadata"].get("namespace", own) for part in parts.values()} == {own}
    rules = parts["Role", "aurora"]["rules"]
    assert {resource for rule in rules for resource in rule["resources"]} == {"pods", "configmaps"}
    assert not {"*", "update", "secrets"} & {
        word for rule in rules for word in rule["verbs"] + rule["resources"]
    }
    # Executors run the user's functions: they have no token, and the role is not theirs.
    account = lines["spark.kubernetes.authenticate.executor.serviceAccountName"]
    assert parts["ServiceAccount", account]["automountServiceAccountToken"] is False
    assert (
        [subject["name"] for subject in parts["RoleBinding", "aurora"]["subjects"]] == ["aurora"] != [account]
    )
    template = lines["spark.kubernetes.executor.podTemplateFile"].removeprefix("/etc/aurora/")
    driver = parts["StatefulSet", "aurora-doors"]["spec"]["template"]
    executor = yaml.safe_load(settings[template])["spec"]
    assert executor["automountServiceAccountToken"] is False
    assert executor["containers"][0]["name"] == lines["spark.kubernetes.executor.podTemplateContainerName"]
    for pod in (driver["spec"], executor):
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 1000
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}
    # Nobody connects but they and who reads the metrics.
    policies = {name: part["spec"] for (kind, name), part in parts.items() if kind == "NetworkPolicy"}
    assert any(policy["podSelector"] == {} and "ingress" not in policy for policy in policies.values())
    (opened,) = (policy for policy in policies.values() if "ingress" in policy)
    label = opened["podSelector"]["matchLabels"]
    assert label.items() <= driver["metadata"]["labels"].items()
    assert lines["spark.kubernetes.executor.label.app"] == label["app"]


def test_the_command_of_the_recipe(aurora_help: str) -> None:
    """Its options are those of the command, and its network is one."""
    from aurora import from_text

    parts = recipe()
    options = parts["StatefulSet", "aurora-doors"]["spec"]["template"]["spec"]["containers"][0]["args"][2:]
    assert [option for option in options if f" {option.partition('=')[0]} " not in aurora_help] == []
    network = from_text(parts["ConfigMap", "aurora-doors"]["data"]["doors.yaml"]).checked()
    assert list(network.inputs) == ["visits"] and list(network.outputs) == ["busy"]


@pytest.fixture
def aurora_help() -> str:
    from typer.testing import CliRunner

    from aurora.cli.commands import app

    return CliRunner().invoke(app, ["run", "--help"]).stdout
