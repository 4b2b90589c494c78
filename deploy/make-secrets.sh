#!/bin/sh
# Creates the passwords that docker-compose.yml needs, in deploy/secrets. Existing ones are kept.
set -eu
cd "$(dirname "$0")"

# Other users of this machine cannot enter the folder; inside it, the users of the containers can read their files.
umask 022
mkdir -p secrets/worker
chmod 700 secrets

new() {
  [ -e "secrets/$1" ] || od -An -tx1 -N24 /dev/urandom | tr -d ' \n' > "secrets/$1"
}

new superuser-password
new warehouse-password
new reader-password
new analyst-password
new metabase-password
new grafana-password
new redis-password
new worker/http-token
new worker/metrics-token
# Hexadecimal digits need no escaping in an address.
[ -e secrets/worker/warehouse-url ] ||
  printf 'postgres://deskmirror:%s@postgres:5432/deskmirror' "$(cat secrets/warehouse-password)" > secrets/worker/warehouse-url
[ -e secrets/worker/queue-url ] ||
  printf 'redis://:%s@redis:6379' "$(cat secrets/redis-password)" > secrets/worker/queue-url

echo "$(pwd)/secrets is complete; put the API keys into $(pwd)/secrets/worker, one file each"
