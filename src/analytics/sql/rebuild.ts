/**
 * Brings the facts of a project to its present settings: what they do not depend on is written, the rest is rebuilt.
 * A rebuild derives all facts of a project, in steps that note how far they came. Whoever continues it begins there, and
 * other writers of the project work between two steps.
 */

import { type FactKind, removePendingFacts } from '../../mirror/sql/pending-facts.ts'
import { inTransaction } from '../../mirror/sql/project-context.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { FactDerivation, FactSource } from './fact-source.ts'
import {
  createFactsState,
  type FactsSettings,
  type FactsState,
  factsVersion,
  fingerprintsOf,
  firstPosition,
  kindAfter,
  readFactsState,
  writeRebuildPosition,
} from './facts-state.ts'
import { isCalendarComplete, writeCalendar, writeReferenceTables } from './reference-tables.ts'

/** What one transaction derived. */
export type FactsStep = { readonly kind: FactKind; readonly ids: number }

/** What was pending need not be remembered: the rebuild derives it. */
export async function beginRebuild(trx: ProjectDb, settings: FactsSettings): Promise<void> {
  await createFactsState(trx)
  await writeReferenceTables(trx, settings)
  await trx.db.deleteFrom('facts_due').where('project_id', '=', trx.project).execute()
  await writeRebuildPosition(trx, firstPosition)
}

/** Makes one step under the project's write lock; null = no rebuild is under way. */
export async function advanceRebuild(
  source: FactSource,
  derivations: Readonly<Record<FactKind, FactDerivation>>,
): Promise<FactsStep | null> {
  const position = (await readFactsState(source))?.rebuild ?? null
  if (position === null) return null
  const { kind, after } = position
  const derivation = derivations[kind]
  if (after === '') await derivation.clear?.(source)
  const ids = await derivation.listIds(source, after, derivation.idsPerRebuildStep)
  const count = ids.length === 0 ? 0 : await derivation.replaceFacts(source, ids)
  const reached = ids[count - 1]
  const next = kindAfter(kind)
  if (reached !== undefined) {
    await removePendingFacts(source, kind, ids.slice(0, count))
    await writeRebuildPosition(source, { kind, after: reached })
  } else await writeRebuildPosition(source, next === null ? null : { kind: next, after: '' })
  return { kind, ids: count }
}

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
