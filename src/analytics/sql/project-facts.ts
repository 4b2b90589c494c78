/**
 * The facts of one project: derived again where rows changed, and rebuilt when the settings or the
 * definitions did. Each step is a transaction under the project's write lock, which notes how far
 * it came, so any process continues there.
 */
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import { type FactKind, factKinds } from '../../../schema/stream-specs.ts'
import {
  findPendingKind,
  listPendingFacts,
  removePendingFacts,
} from '../../mirror/sql/pending-facts.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { retryAllMethods } from '../../warehouse/retry.ts'
import { createStatisticsUpdater } from '../../warehouse/statistics.ts'
import { inTransaction } from '../../warehouse/transactions.ts'
import { type Calendar, createCalendar } from '../core/calendar.ts'
import { availabilityFacts } from './availability-facts.ts'
import { conversationFacts } from './conversation-facts.ts'
import type { FactDerivation, FactSource } from './fact-rows.ts'
import {
  countPendingConversations,
  createFactsState,
  type FactsSettings,
  factsVersion,
  fingerprintsOf,
  firstPosition,
  type RebuildPosition,
  readFactsState,
  writeRebuildPosition,
} from './facts-state.ts'
import { isCalendarComplete, writeCalendar, writeReferenceTables } from './reference-tables.ts'
import { visitFacts } from './visit-facts.ts'

export type FactsOptions = {
  /** Ends after the present transaction; the next refresh continues. */
  readonly signal?: AbortSignal
  /** How many conversations have been derived so far, and how many are left. */
  readonly onProgress?: (done: number, left: number) => void
}

type Work = ProjectDb & { readonly settings: FactsSettings; readonly calendar: Calendar }

/** `isComplete`: nothing is left to be derived. */
export function createProjectFacts(context: ProjectDb, settings: FactsSettings) {
  const calendar = createCalendar({ ...settings.analytics, timeZone: settings.timeZone })
  const work = { ...context, settings, calendar }
  return retryAllMethods(context.retry, {
    /** Derives what is pending, and continues or begins a rebuild. */
    refresh: async (options: FactsOptions = {}) => {
      await applySettings(context, settings)
      return deriveAll(work, options)
    },
    rebuild: async (options: FactsOptions = {}) => {
      await inTransaction(context, (trx) => beginRebuild(trx, settings))
      return deriveAll(work, options)
    },
  })
}

/** What was pending need not be remembered: the rebuild derives it. */
async function beginRebuild(trx: ProjectDb, settings: FactsSettings): Promise<void> {
  await createFactsState(trx)
  await writeReferenceTables(trx, settings)
  await trx.db.deleteFrom('facts_due').where('project_id', '=', trx.project).execute()
  await writeRebuildPosition(trx, firstPosition)
}

/** `settings`: only in what no fact depends on. */
function outdatedBy(state: Awaited<ReturnType<typeof readFactsState>>, settings: FactsSettings) {
  if (state === null) return 'everything'
  const { facts, all } = fingerprintsOf(settings)
  // Facts are left to a newer version that has derived them.
  if (state.version > factsVersion) return 'newer version'
  if (state.version < factsVersion) return 'everything'
  if (state.fingerprint === all) return 'nothing'
  return state.fingerprint.startsWith(`${facts} `) ? 'settings' : 'everything'
}

/** Whether the next refresh derives all facts again that there are. */
export async function willDeriveAgain(
  context: ProjectDb,
  settings: FactsSettings,
): Promise<boolean> {
  const state = await readFactsState(context)
  return state !== null && state.fingerprint !== '' && outdatedBy(state, settings) === 'everything'
}

/** Writes what the facts do not depend on, and begins a rebuild of the rest. */
async function applySettings(context: ProjectDb, settings: FactsSettings): Promise<void> {
  const outdated = outdatedBy(await readFactsState(context), settings)
  if (
    outdated === 'newer version' ||
    (outdated === 'nothing' && (await isCalendarComplete(context)))
  )
    return
  await inTransaction(context, async (trx) => {
    if (outdated === 'nothing') return writeCalendar(trx, settings)
    await createFactsState(trx)
    // Another process may have done it meanwhile.
    const left = outdatedBy(await readFactsState(trx), settings)
    if (left === 'settings') await writeReferenceTables(trx, settings)
    if (left === 'everything') await beginRebuild(trx, settings)
  })
}

/** Rows of facts for each id, roughly. */
const rowsPerId = 10

async function deriveAll(work: Work, { signal, onProgress }: FactsOptions) {
  const statistics = createStatisticsUpdater(work.db, work.kind, analyticsTables)
  let conversations = 0
  while (!signal?.aborted) {
    const step = await deriveNext(work)
    if (step === 'all done' || step === 'superseded') {
      await statistics.runEnded()
      return { conversations, isComplete: step === 'all done' }
    }
    await statistics.rowsStored(step.ids.length * rowsPerId)
    if (step.kind !== 'conversation') continue
    conversations += step.ids.length
    if (onProgress === undefined) continue
    onProgress(conversations, (await countPendingConversations(work)).conversations)
  }
  return { conversations, isComplete: false }
}

/** Ids whose facts one transaction refreshes. */
const idsPerRefresh = 2000

/**
 * What is pending goes first. `superseded`: a process with other settings, or a newer version,
 * derives the facts now.
 */
async function deriveNext(work: Work): Promise<FactsStep | 'all done' | 'superseded'> {
  const kind = await findPendingKind(work)
  if (kind === null && !(await readFactsState(work))?.rebuild) return 'all done'
  return inTransaction(work, async (trx) => {
    const state = await readFactsState(trx)
    if (state === null || outdatedBy(state, work.settings) !== 'nothing') return 'superseded'
    const { analytics: settings, search: hasSearch = true } = work.settings
    const source = { ...trx, settings, hasSearch, mirroredSince: state.mirroredSince }
    if (kind !== null)
      return derive(source, kind, await listPendingFacts(source, kind, idsPerRefresh))
    return state.rebuild === null ? 'all done' : rebuildNext(source, state.rebuild)
  })
}

const derivations: Readonly<Record<FactKind, FactDerivation>> = {
  conversation: conversationFacts,
  visitor: visitFacts,
  availability_hour: availabilityFacts,
}

/** What one transaction derived. */
type FactsStep = { readonly kind: FactKind; readonly ids: readonly string[] }

async function rebuildNext(
  source: FactSource,
  { kind, after }: RebuildPosition,
): Promise<FactsStep> {
  const { clear, listIds, idsPerRebuildStep } = derivations[kind]
  if (after === '') await clear?.(source)
  const step = await derive(source, kind, await listIds(source, after, idsPerRebuildStep))
  const reached = step.ids.at(-1)
  const next = factKinds[factKinds.indexOf(kind) + 1]
  if (reached !== undefined) await writeRebuildPosition(source, { kind, after: reached })
  else await writeRebuildPosition(source, next === undefined ? null : { kind: next, after: '' })
  return step
}

/** Another process may have derived them. The last of many ids are left for another transaction. */
async function derive(
  source: FactSource,
  kind: FactKind,
  ids: readonly string[],
): Promise<FactsStep> {
  const count = ids.length === 0 ? 0 : await derivations[kind].replaceFacts(source, ids)
  const derived = ids.slice(0, count)
  await removePendingFacts(source, kind, derived)
  return { kind, ids: derived }
}
