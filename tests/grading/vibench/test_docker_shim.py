# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the scripts' `docker` and `docker-compose` become on hosts with either Compose."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from vibench_gym.grading.vibench import docker_objects
from vibench_gym.grading.vibench.docker_shim import Settings, command
from vibench_gym.sandbox.isolated_python import isolated_python

if TYPE_CHECKING:
    from pathlib import Path

LABEL = f"{docker_objects.LABEL}=run1"


def settings(folder: Path, *compose: str, compose_1: bool = False) -> Settings:
    return Settings(
        docker="/real/docker",
        compose=list(compose or ("/real/docker", "compose")),
        compose_1=compose_1,
        run="run1",
        folder=str(folder),
        keep=["app-bench-base:latest", "app-bench-base"],
    )


def become(shim: Settings, line: str) -> str:
    name, *arguments = line.split()
    return " ".join(command(shim, name, arguments))


def test_the_other_name_of_compose(tmp_path: Path) -> None:
    plugin = settings(tmp_path)
    old = settings(tmp_path, "/real/docker-compose", compose_1=True)

    up = "-p shop -f c.yml up --no-start"
    assert become(plugin, f"docker-compose {up}") == f"/real/docker compose {up}"
    assert become(plugin, f"docker compose {up}") == f"/real/docker compose {up}"
    assert become(old, f"docker-compose {up}") == f"/real/docker-compose {up}"
    assert become(old, f"docker compose {up}") == f"/real/docker-compose {up}"


def test_projects_and_tags_are_written_down(tmp_path: Path) -> None:
    shim = settings(tmp_path)
    (tmp_path / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    become(shim, "docker-compose -p one up")
    become(shim, "docker-compose -f c.yml --project-name=two down")
    become(shim, f"docker build -t built {tmp_path}")
    become(shim, f"docker image build --tag=other:1 {tmp_path}")
    become(shim, f"docker build -t app-bench-base:latest {tmp_path}")
    become(shim, "docker-compose -p -rf up")

    assert docker_objects.noted(str(tmp_path)) == (["one", "two"], ["built", "other:1"])


def test_a_build_carries_the_label_in_every_layer(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        "ARG BASE=a\nFROM ${BASE} \\\n  AS first\nRUN true\nfrom b\nCOPY x y\n", encoding="utf-8"
    )
    made = become(settings(tmp_path), f"docker build --build-arg BASE=c -t t {tmp_path}")

    assert made.startswith(f"/real/docker build --build-arg BASE=c -t t --label {LABEL} --file ")
    assert made.endswith(f" {tmp_path}")
    recipe = made.split()[-2]
    with open(recipe, encoding="utf-8") as file:  # noqa: PTH123 - a name out of an argument list
        assert file.read() == (
            f"ARG BASE=a\nFROM ${{BASE}} \\\n  AS first\nLABEL {LABEL}\nRUN true\n"
            f"from b\nLABEL {LABEL}\nCOPY x y\n"
        )


def test_a_build_may_copy_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        "FROM a\nCOPY none* /x/\nCOPY Docker* /y/\nCOPY none /z\nCOPY --from=a b* c\n", "utf-8"
    )
    made = become(settings(tmp_path), f"docker build -t t {tmp_path}")

    with open(made.split()[-2], encoding="utf-8") as file:  # noqa: PTH123 - out of a list
        copies = [line for line in file.read().splitlines() if line.startswith("COPY")]
    assert copies == ["COPY Docker* /y/", "COPY none /z", "COPY --from=a b* c"]


def test_a_build_of_another_file_or_of_none(tmp_path: Path) -> None:
    other = tmp_path / "Other"
    other.write_text("FROM a\n", encoding="utf-8")
    shim = settings(tmp_path)

    assert "--file" in become(shim, f"docker build -f {other} -t t {tmp_path}")
    assert become(shim, "docker build -t t -") == f"/real/docker build -t t --label {LABEL} -"


def test_the_shared_base_image_is_built_as_it_is(tmp_path: Path) -> None:
    line = f"build -t app-bench-base:latest {tmp_path}"

    assert become(settings(tmp_path), f"docker {line}") == f"/real/docker {line}"


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("run --rm busybox true", f"run --label {LABEL} --rm busybox true"),
        ("--host h container create x", f"--host h container create --label {LABEL} x"),
        ("network create n", f"network create --label {LABEL} n"),
        ("volume create", f"volume create --label {LABEL}"),
        ("cp c:/a b", "cp c:/a b"),
        ("info", "info"),
        ("", ""),
    ],
)
def test_what_is_made_by_name(tmp_path: Path, line: str, becomes: str) -> None:
    assert become(settings(tmp_path), f"docker {line}") == f"/real/docker {becomes}".strip()


def test_containers_of_compose_1_are_found(tmp_path: Path) -> None:
    shim = settings(tmp_path, "/real/docker-compose", compose_1=True)
    become(shim, "docker-compose -p app-seed-12 up")

    assert become(shim, "docker cp app-seed-12-app-1:/seeding out") == (
        "/real/docker cp app-seed-12_app_1:/seeding out"
    )
    assert become(shim, "docker logs app-seed-12-postgres-1").endswith("app-seed-12_postgres_1")
    assert become(shim, "docker logs other-app-1").endswith("other-app-1")
    assert become(settings(tmp_path), "docker logs app-seed-12-app-1").endswith("-app-1")


def test_the_program_becomes_the_real_one(tmp_path: Path) -> None:
    real = tmp_path / "docker"
    real.write_text('#!/bin/sh\necho "$0" "$@"\n', encoding="utf-8")
    real.chmod(0o755)
    path = tmp_path / "shim.json"
    shim = settings(tmp_path)._replace(docker=str(real), compose=[str(real), "compose"])
    path.write_text(json.dumps(shim._asdict()), encoding="utf-8")

    for name, expected in (("docker", "ps -a"), ("docker-compose", "compose ps -a")):
        argv = [
            *isolated_python("vibench_gym.grading.vibench.docker_shim"),
            str(path),
            name,
            "ps",
            "-a",
        ]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, env={})
        assert done.stdout == f"{real} {expected}\n"
