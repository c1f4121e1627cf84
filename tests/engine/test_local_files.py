"""The file system of Spark's Java for the local disk."""

import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora.engine.spark.local_files import JAR, local_files


def test_the_classes_are_those_of_the_source(spark: SparkSession) -> None:
    compiler = spark._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(JAR.with_name("LocalFiles.java").read_text())
    compiled = {
        f"{name.replace('.', '/')}.class": bytes(code) for name, code in dict(compiler.getBytecodes()).items()
    }
    with zipfile.ZipFile(JAR) as jar:
        assert {name: jar.read(name) for name in jar.namelist()} == compiled


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o751, 0o1777])
def test_files_and_folders_get_the_permissions_that_are_asked_for(
    spark: SparkSession, tmp_path: Path, mode: int
) -> None:
    files = _files(spark)
    assert files.getClass().getName() == "aurora.LocalFiles"
    path = spark._jvm.org.apache.hadoop.fs.Path
    permission = spark._jvm.org.apache.hadoop.fs.permission.FsPermission(mode)
    for made in ("file", "folder"):
        here = path(str(tmp_path / made))
        files.create(here).close() if made == "file" else files.mkdirs(here)
        files.setPermission(here, permission)
        assert stat.S_IMODE((tmp_path / made).stat().st_mode) == mode
        assert files.getFileStatus(here).getPermission().toShort() == mode


def test_permissions_of_what_is_not_there_are_a_fault(spark: SparkSession, tmp_path: Path) -> None:
    permission = spark._jvm.org.apache.hadoop.fs.permission.FsPermission(0o644)
    with pytest.raises(Exception, match="NoSuchFileException"):
        _files(spark).setPermission(spark._jvm.org.apache.hadoop.fs.Path(str(tmp_path / "none")), permission)


@pytest.mark.parametrize("master", ["spark://a:1", "yarn", "local-cluster[2,1,1024]"])
def test_executors_of_their_own_are_left_alone(master: str) -> None:
    assert local_files(master) == {}


def test_settings_of_the_users_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_files("local[2]") == local_files(None) != {}
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert local_files(None) == {}


def _files(spark: SparkSession) -> Any:
    conf = spark._jsc.hadoopConfiguration()
    return spark._jvm.org.apache.hadoop.fs.FileSystem.get(spark._jvm.java.net.URI("file:///"), conf)
