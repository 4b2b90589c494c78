/** The three combinations of warehouse and queue that users run a worker with. */
import { beforeEach } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { emptyRedisDatabase } from '../jobs/queue-fixtures.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'

export type WorkerStores = Pick<DatabaseInstance, 'open' | 'drop'> & {
  readonly databaseUrl: string
  readonly queueUrl: string
}

export type WorkerStoresKind = {
  readonly kind: 'embedded' | 'redis' | 'embedded, Postgres'
  readonly make: () => Promise<WorkerStores>
}

export const workerStores: readonly WorkerStoresKind[] = [
  { kind: 'embedded', make: embeddedStores },
  { kind: 'redis', make: redisStores },
  { kind: 'embedded, Postgres', make: embeddedPostgresStores },
]

/** The stores of the current test of a `describe`, with their warehouse open. */
export function useWorkerStores(
  make: WorkerStoresKind['make'],
): WorkerStores & { readonly warehouse: Warehouse } {
  const current: Partial<WorkerStores & { warehouse: Warehouse }> = {}
  beforeEach(async ({ onTestFinished }) => {
    const stores = await make()
    // Runs after the worker has stopped, as that is registered later.
    onTestFinished(stores.drop)
    Object.assign(current, stores, { warehouse: await stores.open() })
  })
  return current as WorkerStores & { warehouse: Warehouse }
}

const [sqlite, postgres] = databases

/** SQLite, and the jobs in the process. */
async function embeddedStores(): Promise<WorkerStores> {
  const location = await sqlite.makeForSandbox()
  return {
    databaseUrl: location.url!,
    queueUrl: 'embedded',
    open: location.open,
    drop: location.drop,
  }
}

async function redisStores(): Promise<WorkerStores> {
  const location = await postgres.make()
  const queueUrl = await emptyRedisDatabase()
  return { databaseUrl: location.url!, queueUrl, open: location.open, drop: location.drop }
}

/** Postgres, and the jobs in the process. */
async function embeddedPostgresStores(): Promise<WorkerStores> {
  const location = await postgres.make()
  return {
    databaseUrl: location.url!,
    queueUrl: 'embedded',
    open: location.open,
    drop: location.drop,
  }
}
