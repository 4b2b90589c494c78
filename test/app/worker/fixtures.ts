/** Where a worker may keep its mirror and its jobs: the three that users have. */

import type { Warehouse } from '../../../src/warehouse/open.ts'
import { createJobSchema, createQueueFolder, startTestRedis } from '../../jobs/queue-fixtures.ts'
import { databases } from '../../support/databases.ts'

export type WorkerStores = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly open: () => Promise<Warehouse>
  readonly drop: () => Promise<void>
}

export type WorkerStoresKind = { readonly kind: 'embedded' | 'redis' | 'postgres'; readonly make: () => Promise<WorkerStores> }

export const workerStores: readonly WorkerStoresKind[] = [
  { kind: 'embedded', make: embeddedStores },
  { kind: 'redis', make: redisStores },
  { kind: 'postgres', make: postgresStores },
]

const [sqlite, , postgres] = databases as [(typeof databases)[number], unknown, (typeof databases)[number]]

/** SQLite, and the jobs in a folder beside it. */
async function embeddedStores(): Promise<WorkerStores> {
  const place = await sqlite.make()
  await createQueueFolder(`${place.url!.slice('sqlite:'.length)}-queue`)
  return { databaseUrl: place.url!, queueUrl: 'embedded', open: place.open, drop: place.drop }
}

/** Each test has a database of the Redis to itself; there are sixteen. */
let usedRedisDatabases = 0

async function redisStores(): Promise<WorkerStores> {
  const place = await postgres.make()
  usedRedisDatabases += 1
  return { databaseUrl: place.url!, queueUrl: `${await startTestRedis()}/${usedRedisDatabases}`, open: place.open, drop: place.drop }
}

async function postgresStores(): Promise<WorkerStores> {
  const place = await postgres.make()
  const jobs = createJobSchema()
  const drop = async () => {
    await place.drop()
    await jobs.drop()
  }
  return { databaseUrl: place.url!, queueUrl: jobs.url, open: place.open, drop }
}
