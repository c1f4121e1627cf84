"""The Spark query of a network: a constant skeleton, the source and one stage after the other."""

import io
from contextlib import redirect_stdout

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from aurora.engine.plan.plan import Plan
from aurora.engine.settings import cores_of
from aurora.engine.spark.faults import tell_missing_package
from aurora.engine.spark.session import LIGHT_JAVA, own_session, spark_session
from aurora.engine.spark.source import Admission, TrainSource, pack_admission
from aurora.engine.spark.stage import PassingStage, StageProcessor
from aurora.engine.wagons import Job
from aurora.errors import AuroraError

__all__ = ["explain_plan", "train_query"]


def train_query(spark: SparkSession, job: Job, admission: Admission) -> DataFrame:
    """The whole network as one streaming DataFrame, in a session that is its own: settings of it are set here."""
    spark.dataSource.register(TrainSource)
    spark.conf.set("spark.sql.shuffle.partitions", str(job.buckets))
    try:
        wagons = spark.readStream.format("aurora").option("admission", pack_admission(admission)).load()
    except AnalysisException as fault:
        # This is the first that workers do for a run.
        missing = tell_missing_package(str(fault))
        if missing is None:
            raise
        raise AuroraError(missing) from None
    for stage in job.plan.stages[1:]:
        if job.plan.forgets(stage):
            there = wagons.repartition(job.buckets, "bucket")
            wagons = there.mapInArrow(PassingStage(admission.job, stage.number), wagons.schema)
            continue
        wagons = wagons.groupBy("bucket").transformWithStateInPandas(
            StageProcessor(admission.job, stage.number), wagons.schema, "append", "none"
        )
    return wagons


def explain_plan(plan: Plan) -> str:
    """Spark's physical plan for the network, without running it."""
    spark = own_session(spark_session("aurora explain", settings=LIGHT_JAVA))
    job = Job(plan, cores_of(None), {}, "")
    shown = io.StringIO()
    with redirect_stdout(shown):
        train_query(spark, job, Admission.of(job, {}, 1, 1)).explain()
    return shown.getvalue().strip()
