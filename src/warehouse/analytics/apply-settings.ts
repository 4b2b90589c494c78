/** Brings the facts of a project to its present settings: what they do not depend on is written, the rest is rebuilt. */
import { factsVersion } from '../../core/analytics/facts-fingerprint.ts'
import type { EpochMs } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { inTransaction } from '../mirror/project-context.ts'
import { createFactsState, type FactsSettings, type FactsState, fingerprintsOf, readFactsState } from './facts-state.ts'
import type { FactsContext } from './pending-facts.ts'
import { beginRebuild } from './rebuild.ts'
import { isCalendarComplete, writeCalendar, writeReferenceTables } from './reference-tables.ts'

/** Whether the facts are those of this version and of these settings. */
export function areDerivedBy(state: FactsState, settings: FactsSettings): boolean {
  return state.version === factsVersion && state.fingerprint === fingerprintsOf(settings).all
}

/** Leaves facts to a newer version that has derived them. */
export async function applySettings(context: FactsContext, settings: FactsSettings, now: EpochMs): Promise<void> {
  const state = await readFactsState(context.db, context.project)
  if (state !== null && state.version > factsVersion) return
  if (state === null || !areDerivedBy(state, settings))
    await inTransaction(context, (trx) => writeSettings(context, trx.db, settings, now))
  else if (!(await isCalendarComplete(context, now)))
    await inTransaction(context, (trx) => writeCalendar(context, trx.db, settings, now))
}

/** Under the project's write lock; another process may have done it meanwhile. */
async function writeSettings(context: FactsContext, trx: Db, settings: FactsSettings, now: EpochMs): Promise<void> {
  await createFactsState(context, trx, now)
  const state = await readFactsState(trx, context.project)
  if (state !== null && (areDerivedBy(state, settings) || state.version > factsVersion)) return
  if (state !== null && areFactsValid(state, settings)) await writeReferenceTables(context, trx, settings, now)
  else await beginRebuild(context, trx, settings, now)
}

/** Only settings changed on which no fact depends. */
function areFactsValid({ version, fingerprint }: FactsState, settings: FactsSettings): boolean {
  return version === factsVersion && fingerprint.startsWith(`${fingerprintsOf(settings).facts} `)
}
