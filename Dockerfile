# syntax=docker/dockerfile:1
#
# The gateway without a shell, as user 65532. A release pins both bases by digest and says what it was built from:
#
#   docker buildx build --sbom=true --provenance=mode=max -t tollgate:VERSION \
#     --build-arg BUILD_IMAGE=docker.io/library/node:26-trixie-slim@sha256:… \
#     --build-arg RUN_IMAGE=gcr.io/distroless/nodejs26-debian13:nonroot@sha256:… \
#     --build-arg VERSION=… --build-arg REVISION=… --build-arg CREATED=… --build-arg SOURCE=… .
#
#   docker run --read-only --cap-drop ALL -v ./tollgate.yaml:/etc/tollgate/tollgate.yaml:ro -p 8080:8080 tollgate:VERSION
#
# No heredocs and no mounts: buildah 1.28 builds this file too.
ARG BUILD_IMAGE=docker.io/library/node:26-trixie-slim
ARG RUN_IMAGE=gcr.io/distroless/nodejs26-debian13:nonroot

FROM ${BUILD_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY services/package.json services/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts && node build/slim.ts \
 && chmod -R go-w node_modules dist package.json LICENSE && mkdir data /compiled && chown 65532:65532 /compiled
# What V8 compiled for one run of the gateway, which a start reads in place of compiling it again. It holds for the same Node, place,
# flags and user; any other start goes without it. In a small container so do the parts that are loaded later, as `src/node/heap.ts`
# sets no flag there.
USER 65532:65532
ENV NODE_OPTIONS="--max-semi-space-size=4 --max-old-space-size-percentage=60"
RUN NODE_COMPILE_CACHE=/compiled node build/smoke.ts && chmod -R a+rX /compiled

FROM ${RUN_IMAGE}
ARG VERSION
ARG REVISION
ARG CREATED
ARG SOURCE
LABEL org.opencontainers.image.title="tollgate" \
      org.opencontainers.image.description="A reverse proxy that puts exact quota windows in front of an HTTP service that already exists" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}"
WORKDIR /app
# The heap gets 60 % of the memory that the container may use: buffers, SQLite and Node itself are outside of it. Each process of
# `workers` takes that share: give them 60 divided by their number. New objects get at most 3 times 4 MB of it, in place of 3 times 16.
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-semi-space-size=4 --max-old-space-size-percentage=60" \
    NODE_COMPILE_CACHE=/app/dist/compiled \
    TOLLGATE_CONFIG=/etc/tollgate/tollgate.yaml
# Of root, so that a gateway that was taken over cannot change what it runs.
COPY --from=build --chown=0:0 /app/node_modules ./node_modules
COPY --from=build --chown=0:0 /app/dist ./dist
COPY --from=build --chown=0:0 /compiled ./dist/compiled
COPY --from=build --chown=0:0 /app/package.json /app/LICENSE ./
# For `store: sqlite:/data/tollgate.db`; the only place to write besides /tmp.
COPY --from=build --chown=65532:65532 /app/data /data
VOLUME /data
USER 65532:65532
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["/nodejs/bin/node", "dist/main.js", "healthcheck"]
# As the first process it answers signals itself; it starts no process but its workers, so nothing has to be reaped for others.
# New objects get 4 MB from the start (`NODE_OPTIONS` cannot say so): what a start throws away is gone before it counts as old.
ENTRYPOINT ["/nodejs/bin/node", "--min-semi-space-size=4", "dist/main.js"]
CMD ["serve"]
