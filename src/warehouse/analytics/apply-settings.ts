/** Brings the facts of a project to its present settings: what they do not depend on is written, the rest is rebuilt. */
import { factsVersion } from '../../core/analytics/facts-fingerprint.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { inTransaction } from '../mirror/project-context.ts'
import { createFactsState, type FactsSettings, type FactsState, fingerprintsOf, readFactsState } from './facts-state.ts'
import { beginRebuild } from './rebuild.ts'
import { isCalendarComplete, writeCalendar, writeReferenceTables } from './reference-tables.ts'

/** Whether the facts are those of this version and of these settings. */
export function areDerivedBy(state: FactsState, settings: FactsSettings): boolean {
  return state.version === factsVersion && state.fingerprint === fingerprintsOf(settings).all
}

/** Leaves facts to a newer version that has derived them. */
export async function applySettings(context: ProjectDb, settings: FactsSettings): Promise<void> {
  const state = await readFactsState(context)
  if (state !== null && state.version > factsVersion) return
  if (state === null || !areDerivedBy(state, settings))
    await inTransaction(context, (trx) => writeSettings(trx, settings))
  else if (!(await isCalendarComplete(context))) await inTransaction(context, (trx) => writeCalendar(trx, settings))
}

/** Under the project's write lock; another process may have done it meanwhile. */
async function writeSettings(trx: ProjectDb, settings: FactsSettings): Promise<void> {
  await createFactsState(trx)
  const state = await readFactsState(trx)
  if (state !== null && (areDerivedBy(state, settings) || state.version > factsVersion)) return
  if (state !== null && areFactsValid(state, settings)) await writeReferenceTables(trx, settings)
  else await beginRebuild(trx, settings)
}

/** Only settings changed on which no fact depends. */
function areFactsValid({ version, fingerprint }: FactsState, settings: FactsSettings): boolean {
  return version === factsVersion && fingerprint.startsWith(`${fingerprintsOf(settings).facts} `)
}
