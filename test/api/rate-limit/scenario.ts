/** Stores that real processes share, what may happen to them, and a time in which all of it does. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { databases } from '../../support/databases.ts'
import { startPrivateRedis } from '../../support/redis-server.ts'
import type { OnTestFinished, ProcessGroup } from './process-group.ts'

/** A store to share: its URL, and what may happen to it. */
export type SharedLocation = { readonly url: string; readonly faults: readonly (() => Promise<unknown>)[] }
export type StoreKind = { readonly name: string; readonly make: (finished: OnTestFinished) => Promise<SharedLocation> }

async function inRedis(durable: boolean, finished: OnTestFinished): Promise<SharedLocation> {
  const redis = await startPrivateRedis({ durable })
  finished(redis.stop)
  return { url: redis.url, faults: [redis.crash, redis.flush] }
}

async function inWarehouse(kind: 'sqlite' | 'postgres', finished: OnTestFinished): Promise<SharedLocation> {
  const place = await databases.find(({ name }) => name === kind)!.make()
  finished(() => place.drop())
  const warehouse = await place.open()
  const url = place.url!
  const forget = () => warehouse.query('delete from sync_budgets')
  return { url, faults: kind === 'sqlite' ? [forget] : [forget, () => endConnections(url)] }
}

/** Ends every connection of the processes to their Postgres. */
async function endConnections(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, '') })
  await client.connect()
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'deskmirror' and datname = current_database()",
  )
  await client.end()
}

export const storeKinds: readonly StoreKind[] = [
  { name: 'a Redis that keeps its data', make: (finished) => inRedis(true, finished) },
  { name: 'a Redis that keeps nothing', make: (finished) => inRedis(false, finished) },
  { name: 'Postgres', make: (finished) => inWarehouse('postgres', finished) },
  { name: 'SQLite', make: (finished) => inWarehouse('sqlite', finished) },
]

/** A few seconds in which processes are killed and stopped at any moment, and the store suffers everything once. */
export async function injectFaults(
  fleet: ProcessGroup,
  harms: readonly (() => Promise<unknown>)[],
  dice: () => number,
): Promise<void> {
  for (const harm of harms) {
    for (let count = 0; count < 2; count += 1) {
      await sleep(dice() * 500)
      fleet.replace(Math.floor(dice() * 4))
    }
    const stopped = fleet.processes[Math.floor(dice() * 4)]
    stopped?.kill('SIGSTOP')
    await sleep(dice() * 500)
    await harm()
    await sleep(dice() * 3000)
    stopped?.kill('SIGCONT')
    await sleep(dice() * 1000)
  }
}
