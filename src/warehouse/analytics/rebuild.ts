/**
 * A rebuild derives all facts of a project, in steps that note how far they came. Whoever continues it begins there, and
 * other writers of the project work between two steps.
 */

import type { ProjectDb } from '../database/project-db.ts'
import type { FactDerivation, FactSource } from './fact-source.ts'
import {
  createFactsState,
  type FactsSettings,
  firstPosition,
  kindAfter,
  readFactsState,
  writeRebuildPosition,
} from './facts-state.ts'
import { type FactKind, removePendingFacts } from './pending-facts.ts'
import { writeReferenceTables } from './reference-tables.ts'

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
