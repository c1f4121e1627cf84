# Aurora with its sources and sinks. For the benchmarks: docker build --build-arg EXTRAS=all -t aurora .
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY aurora aurora
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /dist

FROM python:3.12-slim
ARG EXTRAS=kafka,mqtt,postgres,plot
# Java is 17 or newer in every Debian that these images are made of. Spark needs ps; tini passes signals on.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends default-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(ls /dist/*.whl)[${EXTRAS}]" && rm -r /dist
COPY docker/entrypoint /usr/local/bin/aurora-entrypoint
RUN useradd --uid 1000 --create-home aurora && mkdir /data && chown aurora /data
USER 1000
RUN aurora prepare
WORKDIR /data
EXPOSE 9464
ENTRYPOINT ["tini", "--", "aurora-entrypoint"]
CMD ["--help"]
