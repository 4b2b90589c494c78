/** Everything that the pages of the console read of one project. */
import type { StreamName } from '../../core/stream-specs.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { listLiveWorkers } from '../workers.ts'
import { readBudget } from './budget.ts'
import { readConversation, readVisitor } from './conversation.ts'
import { readDays } from './days.ts'
import { readOverview } from './overview.ts'
import { listRuns, readRun } from './runs.ts'
import { search } from './search.ts'
import { readFields, readServiceFacts } from './service-facts.ts'
import { countStreamRows, readFailingParents, readGaps, readStoredStreams } from './stream-rows.ts'
import { readWaiting, type WaitingFilter } from './waiting.ts'

export type ConsoleReads = ReturnType<typeof createConsoleReads>

export function createConsoleReads(context: ProjectDb) {
  return {
    countWorkers: async (now: EpochMs) => (await listLiveWorkers(context.db, now)).length,
    budget: (from: EpochMs, to: EpochMs, stepMs: Ms) => readBudget(context, from, to, stepMs),
    overview: (now: EpochMs) => readOverview(context, now),
    streams: (selected: readonly StreamName[], now: EpochMs) => readStoredStreams(context, selected, now),
    countRows: (stream: StreamName) => countStreamRows(context, stream),
    gaps: (stream: StreamName | null) => readGaps(context, stream),
    failingParents: (stream: StreamName | null) => readFailingParents(context, stream),
    runs: (outcome: string | null, before: string | null, limit: number) => listRuns(context, outcome, before, limit),
    waiting: (filter: WaitingFilter, now: EpochMs) => readWaiting(context, filter, now),
    conversation: (id: string, before: string | null) => readConversation(context, id, before),
    visitor: (id: string) => readVisitor(context, id),
    days: (from: string) => readDays(context, from),
    fields: () => readFields(context),
    service: (now: EpochMs) => readServiceFacts(context, now),
    search: (text: string, before: string | null) => search(context, text, before),
    run: (id: string) => readRun(context, id),
  }
}
