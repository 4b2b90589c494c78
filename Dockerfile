# deskmirror as a container, with only what it needs to run. How to run it: docs/guide.md.
# Debian and not Alpine: the tests run on it.
# The digest decides what is pulled; the tag documents it. How to renew it: docs/guide.md.
ARG NODE=node:24.19.0-bookworm-slim@sha256:3638d9a6fe4030bd716be989438248074489337ba3275657f93595428be4fc03

FROM ${NODE} AS build
WORKDIR /build
# No package that is needed here or below has an install script that it depends on.
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY schema schema
COPY src src
COPY jobs jobs
# --build-arg COMMIT=$(git rev-parse HEAD): shown by --version.
ARG COMMIT=
RUN npm run build && echo "${COMMIT}" > dist/commit

FROM ${NODE} AS packages
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# The optional packages are a compiler and a faster decoder for rare data; neither is needed.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src

FROM ${NODE}
ARG VERSION=1.0.0
LABEL org.opencontainers.image.title="deskmirror" \
  org.opencontainers.image.description="Mirrors a customer-messaging project into SQLite or Postgres" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
COPY bin bin
# The files belong to root, so the program cannot change itself. It owns only /data.
RUN install -d -o node -g node -m 0750 /data
USER node
WORKDIR /data
VOLUME /data
# Process 1 is the program itself: it receives the signals, and has no child processes to reap.
ENTRYPOINT ["node", "/app/bin/deskmirror.js"]
CMD ["start"]
STOPSIGNAL SIGTERM
# Checks the worker's default address; needs a change if `http` sets another port or off.
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8484/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
