/**
 * The facts of one project: derived again where rows of the mirror changed, and rebuilt as a whole when the settings or
 * the definitions did. Several processes may do this at once: each step is a transaction under the project's write lock.
 */
import { factsVersion } from '../../core/analytics/facts-fingerprint.ts'
import { createCalendar } from '../../core/analytics/project-calendar.ts'
import type { EpochMs } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { createStatisticsUpdater } from '../database/statistics.ts'
import { inTransaction } from '../mirror/project-context.ts'
import { availabilityFacts } from './availability-facts.ts'
import { conversationFacts } from './conversation-facts.ts'
import type { FactDerivation, FactSource } from './fact-source.ts'
import { createFactsState, type FactsSettings, fingerprintsOf, readFactsState } from './facts-state.ts'
import { type FactKind, type FactsContext, listPendingFacts, removePendingFacts } from './pending-facts.ts'
import { advanceRebuild, beginRebuild } from './rebuild.ts'
import { isCalendarComplete, writeCalendar, writeReferenceTables } from './reference-tables.ts'
import { visitFacts } from './visit-facts.ts'
import { countWaitingConversations } from './waiting-facts.ts'

export type FactsOptions = {
  /** Ends after the present transaction; the next refresh continues. */
  readonly signal?: AbortSignal
  /** How many conversations have been derived so far, and how many are left. */
  readonly onProgress?: (done: number, left: number) => void
}

/** `isComplete`: nothing is left to be derived. */
export type FactsReport = { readonly conversations: number; readonly isComplete: boolean }

export type ProjectFacts = {
  /** Derives what is pending, and continues a rebuild or begins the one that changed settings ask for. */
  readonly refresh: (options?: FactsOptions) => Promise<FactsReport>
  /** Derives all facts anew. */
  readonly rebuild: (options?: FactsOptions) => Promise<FactsReport>
}

/** Ids whose facts one transaction refreshes. */
const idsPerRefresh = 500

export const derivations: Readonly<Record<FactKind, FactDerivation>> = {
  conversation: conversationFacts,
  visitor: visitFacts,
  availability_hour: availabilityFacts,
}

export function createProjectFacts(context: FactsContext, settings: FactsSettings, clock: () => EpochMs): ProjectFacts {
  const fingerprints = fingerprintsOf(settings)
  const calendar = createCalendar({ ...settings.analytics, timeZone: settings.timeZone })
  const statistics = createStatisticsUpdater(context.db, context.kind)

  /** Null: a newer version of deskmirror or other settings derive the facts now, so this process must not. */
  const openSource = async (db: Db): Promise<FactSource | null> => {
    const state = await readFactsState(db, context.project)
    if (state === null || state.version !== factsVersion || state.fingerprint !== fingerprints.all) return null
    return { ...context, settings: settings.analytics, calendar, mirroredSince: state.mirroredSince }
  }

  const prepare = async () => {
    const state = await readFactsState(context.db, context.project)
    if (state !== null && state.version > factsVersion) return
    if (state?.fingerprint !== fingerprints.all || state.version !== factsVersion)
      await inTransaction(context, (trx) => applySettings(context, trx, settings, clock()))
    else if (!(await isCalendarComplete(context, clock())))
      await inTransaction(context, (trx) => writeCalendar(context, trx, settings, clock()))
  }

  /** One transaction; returns how many ids were handled. */
  const refreshBatch = (derivation: FactDerivation) =>
    inTransaction(context, async (trx) => {
      const source = await openSource(trx)
      const ids = source === null ? [] : await listPendingFacts(context, trx, derivation.kind, idsPerRefresh)
      if (source === null || ids.length === 0) return 0
      const count = await derivation.replaceFacts(source, trx, ids)
      await removePendingFacts(context, trx, derivation.kind, ids.slice(0, count))
      return count
    })

  const rebuildStep = () =>
    inTransaction(context, async (trx) => {
      const source = await openSource(trx)
      return source === null ? null : advanceRebuild(source, trx, derivations)
    })

  const refresh = async ({ signal, onProgress }: FactsOptions = {}): Promise<FactsReport> => {
    let conversations = 0
    const count = async (kind: FactKind, ids: number) => {
      await statistics.rowsStored(ids * rowsPerId)
      if (kind !== 'conversation' || ids === 0) return
      conversations += ids
      if (onProgress === undefined) return
      const { conversations: left } = await countWaitingConversations(context.db, context.project)
      onProgress(conversations, left)
    }
    await prepare()
    for (;;) {
      for (const derivation of Object.values(derivations)) {
        for (let ids = -1; ids !== 0; ) {
          if (signal?.aborted) return { conversations, isComplete: false }
          ids = await refreshBatch(derivation)
          await count(derivation.kind, ids)
        }
      }
      const step = await rebuildStep()
      if (step === null) break
      await count(step.kind, step.ids)
    }
    await statistics.runEnded()
    return { conversations, isComplete: true }
  }

  return {
    refresh,
    rebuild: async (options) => {
      await inTransaction(context, (trx) => beginRebuild(context, trx, settings, clock()))
      return refresh(options)
    },
  }
}

/** Rows of facts for each id, roughly. */
const rowsPerId = 10

/** The settings differ from those of the facts. Within the transaction, another process may have applied them already. */
async function applySettings(context: FactsContext, trx: Db, settings: FactsSettings, now: EpochMs): Promise<void> {
  const fingerprints = fingerprintsOf(settings)
  await createFactsState(context, trx, now)
  const state = await readFactsState(trx, context.project)
  if (state?.fingerprint === fingerprints.all && state.version === factsVersion) return
  const areFactsValid = state?.version === factsVersion && state.fingerprint.startsWith(`${fingerprints.facts} `)
  if (areFactsValid) await writeReferenceTables(context, trx, settings, now)
  else await beginRebuild(context, trx, settings, now)
}
