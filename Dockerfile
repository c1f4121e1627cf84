# Aurora with its sources and sinks. For the benchmarks: docker build --build-arg LOCK=requirements.lock -t aurora .
# To build the same image again, name the base by its digest, which docker buildx imagetools inspect python:3.11-slim tells:
# docker build --build-arg BASE=python:3.11-slim@sha256:... -t aurora .
ARG BASE=python:3.11-slim
FROM ${BASE} AS build
ARG LOCK=docker/requirements.lock
WORKDIR /build
COPY requirements.lock ./
COPY docker/requirements.lock docker/
# What was tested, and nothing else: a package of another hash is refused.
RUN python -m venv /opt/aurora && /opt/aurora/bin/pip install --no-cache-dir --require-hashes -r "$LOCK"
COPY pyproject.toml README.md LICENSE ./
COPY aurora aurora
RUN /opt/aurora/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM ${BASE}
# Java is 17 or newer in every Debian that these images are made of. Spark needs ps; tini passes signals on.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends default-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/aurora /opt/aurora
ENV PATH=/opt/aurora/bin:$PATH
COPY docker/entrypoint /usr/local/bin/aurora-entrypoint
RUN useradd --uid 1000 --create-home aurora && mkdir /data && chown aurora /data
USER 1000
RUN aurora prepare
WORKDIR /data
EXPOSE 9464
ENTRYPOINT ["tini", "--", "aurora-entrypoint"]
CMD ["--help"]
