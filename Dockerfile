# A recorded environment as an image: a lock is restored into a slim base, and every file of it proven.
#
#   docker build --build-arg LOCK=lockfiles/NAME.toml --tag NAME .
#   docker run --rm NAME                                                        envguard verify: 0 match, 1 drift
#   docker run --rm --gpus all --volume "$PWD":/workspace NAME python train.py
#
# BASE needs the recorded Python's minor version, 3.11 or later: python:3.X-slim, or a Debian with python3-venv.
ARG BASE=python:3.12-slim

FROM ${BASE} AS tool
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY envguard ./envguard
RUN --mount=type=cache,target=/root/.cache/pip \
    --mount=type=secret,id=netrc,target=/root/.netrc \
    python3 -m venv /opt/envguard/tool \
    && /opt/envguard/tool/bin/pip install --disable-pip-version-check --no-compile . \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/envguard/tool \
    && mkdir /opt/envguard/bin \
    && ln -s ../tool/bin/envguard /opt/envguard/bin/envguard

FROM tool AS restored
# The lock, a path in the build context.
ARG LOCK
# Folders of the build context, where needed: wheel files, and a store that holds the lock's archive.
ARG FIND_LINKS
ARG STORE
# Addresses of indexes; a password belongs into a secret: --secret id=netrc,src=FILE
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV ENVGUARD_DATA_DIR=/opt/envguard \
    ENVGUARD_CACHE_DIR=/var/cache/envguard
WORKDIR /context
RUN --mount=type=bind,target=/context \
    --mount=type=cache,target=/var/cache/envguard \
    --mount=type=secret,id=netrc,target=/root/.netrc \
    : "${LOCK:?say which lock: --build-arg LOCK=lockfiles/NAME.toml}" \
    && cp "${LOCK}" /opt/envguard/lock.toml \
    && if [ -n "${STORE}" ]; then cp -r "${STORE}" /opt/envguard/store; fi \
    && /opt/envguard/bin/envguard restore "${LOCK}" --target /opt/envguard/env \
        ${FIND_LINKS:+--find-links "${FIND_LINKS}"} \
    && rm -rf /opt/envguard/store

FROM ${BASE}
# torch.compile builds with a C compiler; --build-arg DEBIAN_PACKAGES= leaves it out.
ARG DEBIAN_PACKAGES="gcc libc6-dev"
ARG USER_ID=1000
# hadolint ignore=DL3008,SC2086
RUN if [ -n "${DEBIAN_PACKAGES}" ]; then \
        apt-get update \
        && apt-get install --yes --no-install-recommends ${DEBIAN_PACKAGES} \
        && rm -rf /var/lib/apt/lists/*; \
    fi \
    && useradd --uid "${USER_ID}" --create-home envguard \
    && install --directory --owner=envguard /workspace /var/cache/envguard /home/envguard/.cache
COPY --from=restored /opt/envguard /opt/envguard
ENV PATH=/opt/envguard/env/bin:/opt/envguard/bin:$PATH \
    VIRTUAL_ENV=/opt/envguard/env \
    PYTHONDONTWRITEBYTECODE=1 \
    ENVGUARD_CACHE_DIR=/var/cache/envguard \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /workspace
USER ${USER_ID}
# Driver and GPUs are the host's; everything else must be as recorded.
HEALTHCHECK --interval=30m --timeout=10m --start-period=10m --retries=1 \
    CMD ["envguard", "verify", "--quiet", "--allow-unknown", "driver,gpus", \
        "--python", "/opt/envguard/env", "/opt/envguard/lock.toml"]
CMD ["envguard", "verify", "--python", "/opt/envguard/env", "/opt/envguard/lock.toml"]
