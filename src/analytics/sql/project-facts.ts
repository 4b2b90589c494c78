/**
 * The facts of one project: derived again where rows of the mirror changed, and rebuilt as a whole when the settings or
 * the definitions did. Several processes may do this at once: each step is a transaction under the project's write lock.
 */
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import { type FactKind, findPendingKind, listPendingFacts, removePendingFacts } from '../../mirror/sql/pending-facts.ts'
import { inTransaction } from '../../mirror/sql/project-context.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { createStatisticsUpdater } from '../../warehouse/statistics.ts'
import { type Calendar, createCalendar } from '../core/calendar.ts'
import { availabilityFacts } from './availability-facts.ts'
import { conversationFacts } from './conversation-facts.ts'
import type { FactDerivation, FactSource } from './fact-source.ts'
import { countWaitingConversations, type FactsSettings, readFactsState } from './facts-state.ts'
import { advanceRebuild, applySettings, areDerivedBy, beginRebuild, type FactsStep } from './rebuild.ts'
import { visitFacts } from './visit-facts.ts'

export type FactsOptions = {
  /** Ends after the present transaction; the next refresh continues. */
  readonly signal?: AbortSignal
  /** How many conversations have been derived so far, and how many are left. */
  readonly onProgress?: (done: number, left: number) => void
}

/** `isComplete`: nothing is left to be derived. */
type FactsReport = { readonly conversations: number; readonly isComplete: boolean }

export type ProjectFacts = {
  /** Derives what is pending, and continues a rebuild or begins the one that changed settings ask for. */
  readonly refresh: (options?: FactsOptions) => Promise<FactsReport>
  /** Derives all facts anew. */
  readonly rebuild: (options?: FactsOptions) => Promise<FactsReport>
}

type Work = ProjectDb & {
  readonly settings: FactsSettings
  readonly calendar: Calendar
}

export function createProjectFacts(context: ProjectDb, settings: FactsSettings): ProjectFacts {
  const calendar = createCalendar({ ...settings.analytics, timeZone: settings.timeZone })
  const work: Work = { ...context, settings, calendar }
  return {
    refresh: async (options = {}) => {
      await applySettings(context, settings)
      return deriveAll(work, options)
    },
    rebuild: async (options = {}) => {
      await inTransaction(context, (trx) => beginRebuild(trx, settings))
      return deriveAll(work, options)
    },
  }
}

async function deriveAll(work: Work, { signal, onProgress }: FactsOptions): Promise<FactsReport> {
  const statistics = createStatisticsUpdater(work.db, work.kind, analyticsTables)
  let conversations = 0
  while (!signal?.aborted) {
    const step = await deriveNext(work)
    if (step === 'all done' || step === 'superseded') {
      await statistics.runEnded()
      return { conversations, isComplete: step === 'all done' }
    }
    await statistics.rowsStored(step.ids * rowsPerId)
    if (step.kind !== 'conversation') continue
    conversations += step.ids
    if (onProgress === undefined) continue
    onProgress(conversations, (await countWaitingConversations(work)).conversations)
  }
  return { conversations, isComplete: false }
}

/** Rows of facts for each id, roughly. */
const rowsPerId = 10

/**
 * One transaction. What is pending goes first, so that a rebuild does not delay it. `superseded`: a process with other
 * settings, or a newer version, derives the facts now, so this one must not.
 */
async function deriveNext(work: Work): Promise<FactsStep | 'all done' | 'superseded'> {
  const kind = await findPendingKind(work)
  if (kind === null && !(await isRebuilding(work))) return 'all done'
  return inTransaction(work, async (trx) => {
    const source = await openSource(trx)
    if (source === null) return 'superseded'
    if (kind !== null) return refreshPending(source, derivations[kind])
    return (await advanceRebuild(source, derivations)) ?? 'all done'
  })
}

async function isRebuilding(work: Work): Promise<boolean> {
  const state = await readFactsState(work)
  return state !== null && state.rebuild !== null
}

async function openSource(work: Work): Promise<FactSource | null> {
  const state = await readFactsState(work)
  if (state === null || !areDerivedBy(state, work.settings)) return null
  const { analytics: settings, search: hasSearch = true } = work.settings
  return { ...work, settings, hasSearch, mirroredSince: state.mirroredSince }
}

const derivations: Readonly<Record<FactKind, FactDerivation>> = {
  conversation: conversationFacts,
  visitor: visitFacts,
  availability_hour: availabilityFacts,
}

/** Ids whose facts one transaction refreshes. */
const idsPerRefresh = 2000

/** Another process may have refreshed them meanwhile: none, then. */
async function refreshPending(source: FactSource, derivation: FactDerivation): Promise<FactsStep> {
  const { kind, replaceFacts } = derivation
  const ids = await listPendingFacts(source, kind, idsPerRefresh)
  const count = ids.length === 0 ? 0 : await replaceFacts(source, ids)
  await removePendingFacts(source, kind, ids.slice(0, count))
  return { kind, ids: count }
}
