# The web app, built with what only a build needs.
FROM node:24-bookworm-slim AS web

WORKDIR /app
COPY . .
RUN npm ci --omit=optional && npm run build -w @countersign/web

# The image of server, worker and migrate; which one runs is the command.
FROM node:24-bookworm-slim

WORKDIR /app
ENV NODE_ENV=production

# The manifests come first, so that a change of the code does not install again.
COPY package.json package-lock.json .npmrc ./
COPY packages/db/package.json packages/db/
COPY packages/gate/package.json packages/gate/
COPY packages/engine/package.json packages/engine/
COPY packages/broker/package.json packages/broker/
COPY packages/kb/package.json packages/kb/
COPY packages/model/package.json packages/model/
COPY packages/ops/package.json packages/ops/
COPY packages/tools/package.json packages/tools/
COPY apps/server/package.json apps/server/
COPY apps/worker/package.json apps/worker/
COPY apps/bench/package.json apps/bench/
COPY apps/cli/package.json apps/cli/
COPY apps/web/package.json apps/web/
# The optional packages are a Node and a PostgreSQL to run without Docker: the image has the one and is given the other.
RUN npm ci --omit=dev --omit=optional

COPY . .
COPY --from=web /app/apps/web/dist apps/web/dist

# Where the worker keeps the key that opens secrets.
ENV COUNTERSIGN_DATA=/data
RUN install -d -o node -g node -m 700 /data
VOLUME /data
USER node

# The launcher replaces itself by Node, so the process that Docker signals is the program.
ENTRYPOINT ["./countersign"]
