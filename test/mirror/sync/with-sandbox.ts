/** A sandbox and an empty warehouse for one test, both removed afterwards. */

import { streamNames } from '../../../schema/stream-specs.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import type { SyncReport } from '../../../src/mirror/core/reports.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { databases, type TestDatabase } from '../../support/databases.ts'
import { type SyncOverrides, syncOnce } from './sync-sandbox.ts'

export type SandboxContext = {
  readonly sandbox: Sandbox
  readonly warehouse: Warehouse
  readonly url: string
  readonly sync: (over?: SyncOverrides) => Promise<SyncReport>
}

type SandboxOptions = NonNullable<Parameters<typeof startSandbox>[0]> & {
  readonly db?: TestDatabase
  /** Of each sync; by default all. */
  readonly streams?: SyncOverrides['streams']
}
type Work = (context: SandboxContext) => Promise<void>

/** The sandbox has no rate limit unless `switches` sets one. */
export async function withSandbox(
  { switches, db = databases[0]!, streams = streamNames, ...options }: SandboxOptions,
  work: Work,
) {
  const database = await db.makeForSandbox()
  const sandbox = await startSandbox({ ...options, switches: { 'rate.kind': 'off', ...switches } })
  try {
    const url = database.url!
    const sync = (over?: SyncOverrides) => syncOnce(url, sandbox, { streams, ...over })
    await work({ sandbox, warehouse: await database.open(), url, sync })
  } finally {
    await sandbox.stop()
    await database.drop()
  }
}
