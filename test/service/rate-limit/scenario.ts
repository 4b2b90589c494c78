/** Stores that real processes share, their faults, and a scenario that injects all of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { databases } from '../../support/databases.ts'
import { startRedisCluster, startRedisSentinels } from '../../support/redis-groups.ts'
import { startPrivateRedis } from '../../support/redis-server.ts'
import type { OnTestFinished, ProcessGroup } from './process-group.ts'

/** A shared store: its URL, and its possible faults. */
export type SharedLocation = {
  readonly url: string
  readonly faults: readonly (() => Promise<unknown>)[]
}
export type StoreKind = {
  readonly name: string
  readonly make: (onFinished: OnTestFinished) => Promise<SharedLocation>
}

async function inRedis(durable: boolean, onFinished: OnTestFinished): Promise<SharedLocation> {
  const redis = await startPrivateRedis({ durable })
  onFinished(redis.stop)
  return { url: redis.url, faults: [redis.crash, redis.flush] }
}

/** Twice, a master dies, and another takes its place. */
async function inGroup(
  start: typeof startRedisCluster,
  onFinished: OnTestFinished,
): Promise<SharedLocation> {
  const group = await start()
  onFinished(group.stop)
  const failAgain = async () => {
    await group.addReplica()
    await group.killMaster()
  }
  return { url: group.url, faults: [group.killMaster, failAgain] }
}

async function inWarehouse(
  kind: 'sqlite' | 'postgres',
  onFinished: OnTestFinished,
): Promise<SharedLocation> {
  const location = await databases.find(({ name }) => name === kind)!.make()
  onFinished(() => location.drop())
  const warehouse = await location.open()
  const url = location.url!
  const deleteRecord = () => warehouse.query('delete from sync_budgets')
  return {
    url,
    faults: kind === 'sqlite' ? [deleteRecord] : [deleteRecord, () => endConnections(url)],
  }
}

/** Closes every Postgres connection of the processes. */
async function endConnections(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, '') })
  await client.connect()
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'deskmirror' and datname = current_database()",
  )
  await client.end()
}

export const storeKinds: readonly StoreKind[] = [
  { name: 'a Redis that keeps its data', make: (onFinished) => inRedis(true, onFinished) },
  { name: 'a Redis that keeps nothing', make: (onFinished) => inRedis(false, onFinished) },
  { name: 'a Redis cluster', make: (onFinished) => inGroup(startRedisCluster, onFinished) },
  {
    name: 'a Redis with sentinels',
    make: (onFinished) => inGroup(startRedisSentinels, onFinished),
  },
  { name: 'Postgres', make: (onFinished) => inWarehouse('postgres', onFinished) },
  { name: 'SQLite', make: (onFinished) => inWarehouse('sqlite', onFinished) },
]

/**
 * For a few seconds, kills and suspends processes at random times, and injects each fault of the
 * store once. `kills`: for each fault.
 */
export async function injectFaults(
  group: ProcessGroup,
  faults: readonly (() => Promise<unknown>)[],
  random: () => number,
  kills = 2,
): Promise<void> {
  const anyone = () => Math.floor(random() * group.processes.length)
  for (const injectFault of faults) {
    for (let count = 0; count < kills; count += 1) {
      await sleep(random() * 500)
      group.replace(anyone())
    }
    const suspended = group.processes[anyone()]
    suspended?.kill('SIGSTOP')
    await sleep(random() * 500)
    await injectFault()
    await sleep(random() * 3000)
    suspended?.kill('SIGCONT')
    await sleep(random() * 1000)
  }
}
