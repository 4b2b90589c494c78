/** A sandbox and an empty warehouse for one test, both removed afterwards. */
import type { SyncReport } from '../../src/core/command-reports.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { type SyncOverrides, syncOnce } from './sync-sandbox.ts'

export type SandboxContext = {
  readonly sandbox: Sandbox
  readonly warehouse: Warehouse
  readonly url: string
  readonly sync: (over?: SyncOverrides) => Promise<SyncReport>
}

type SandboxOptions = NonNullable<Parameters<typeof startSandbox>[0]>

/** The sandbox has no rate limit unless `switches` sets one. */
export async function withSandbox(
  { switches, ...options }: SandboxOptions,
  work: (context: SandboxContext) => Promise<void>,
  db: TestDatabase = databases[0]!,
): Promise<void> {
  const database = await db.make()
  const sandbox = await startSandbox({ ...options, switches: { 'rate.kind': 'off', ...switches } })
  try {
    const url = database.url!
    const sync = (over?: SyncOverrides) => syncOnce(url, sandbox, over)
    await work({ sandbox, warehouse: await database.open(), url, sync })
  } finally {
    await sandbox.stop()
    await database.drop()
  }
}
