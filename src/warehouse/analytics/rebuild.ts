/**
 * A rebuild derives all facts of a project, in steps that note how far they came. Whoever continues it begins there, and
 * other writers of the project work between two steps.
 */
import type { EpochMs } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import type { FactDerivation, FactSource } from './fact-source.ts'
import {
  createFactsState,
  type FactsSettings,
  firstPosition,
  kindAfter,
  readFactsState,
  writeRebuildPosition,
} from './facts-state.ts'
import { type FactKind, type FactsContext, removePendingFacts } from './pending-facts.ts'
import { writeReferenceTables } from './reference-tables.ts'

/** What one transaction derived. */
export type FactsStep = { readonly kind: FactKind; readonly ids: number }

/** What was pending need not be remembered: the rebuild derives it. */
export async function beginRebuild(
  context: FactsContext,
  trx: Db,
  settings: FactsSettings,
  now: EpochMs,
): Promise<void> {
  await createFactsState(context, trx, now)
  await writeReferenceTables(context, trx, settings, now)
  await trx.deleteFrom('facts_due').where('project_id', '=', context.project).execute()
  await writeRebuildPosition(context, trx, firstPosition)
}

/** Makes one step under the project's write lock; null = no rebuild is under way. */
export async function advanceRebuild(
  source: FactSource,
  trx: Db,
  derivations: Readonly<Record<FactKind, FactDerivation>>,
): Promise<FactsStep | null> {
  const position = (await readFactsState(trx, source.project))?.rebuild ?? null
  if (position === null) return null
  const { kind, after } = position
  const derivation = derivations[kind]
  if (after === '') await derivation.clear?.(source, trx)
  const ids = await derivation.listIds(source, trx, after, derivation.idsPerRebuildStep)
  const count = ids.length === 0 ? 0 : await derivation.replaceFacts(source, trx, ids)
  const reached = ids[count - 1]
  const next = kindAfter(kind)
  if (reached !== undefined) {
    await removePendingFacts(source, trx, kind, ids.slice(0, count))
    await writeRebuildPosition(source, trx, { kind, after: reached })
  } else await writeRebuildPosition(source, trx, next === null ? null : { kind: next, after: '' })
  return { kind, ids: count }
}
