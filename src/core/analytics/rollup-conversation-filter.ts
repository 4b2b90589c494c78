/** Which conversations a number of the rollups counts, as of when it was read. */
import type { EpochSeconds } from '../time.ts'
import type { ConversationFilter } from './rollup-measures.ts'

export type RollupConversation = {
  readonly id: string
  readonly visitorId: string | null
  readonly origin: string | null
  readonly createdAt: EpochSeconds | null
  readonly deletedAt: EpochSeconds | null
  readonly openedBy: string | null
  readonly firstVisitorAt: EpochSeconds | null
  readonly firstHumanAt: EpochSeconds | null
  readonly firstAiAt: EpochSeconds | null
}

export type Span = { readonly since?: EpochSeconds; readonly until?: EpochSeconds }
const always: readonly Span[] = [{}]
const never: readonly Span[] = []

/** When a reading counts the conversation. It has forgotten a deleted one. */
export function spansOfFilter(filter: ConversationFilter, row: RollupConversation): readonly Span[] {
  if (row.deletedAt === null || filter.rows === 'all and deleted ones') return spansOfLiving(filter, row)
  const { deletedAt } = row
  return spansOfLiving(filter, row).map((span) => ({ ...span, until: Math.min(deletedAt, span.until ?? deletedAt) }))
}

function spansOfLiving(filter: ConversationFilter, row: RollupConversation): readonly Span[] {
  const { firstHumanAt, firstAiAt } = row
  switch (filter.rows) {
    case 'all':
    case 'all and deleted ones':
      return always
    case 'begun by the visitor':
      return row.openedBy === 'visitor' ? always : never
    case 'with a human message':
      return since(firstHumanAt)
    case 'with an AI message':
      return since(firstAiAt)
    case 'without an AI message':
      return until(firstAiAt)
    case 'answered by the AI alone':
      if (firstAiAt === null || (firstHumanAt !== null && firstHumanAt <= firstAiAt)) return never
      return [{ since: firstAiAt, ...(firstHumanAt === null ? {} : { until: firstHumanAt }) }]
    case 'not answered by the AI alone':
      if (firstAiAt === null || (firstHumanAt !== null && firstHumanAt <= firstAiAt)) return always
      return [{ until: firstAiAt }, ...since(firstHumanAt)]
    case 'of the origin':
      return row.origin === filter.origin ? always : never
    case 'not of the origin':
      return row.origin === filter.origin ? never : always
  }
}

function since(at: EpochSeconds | null): readonly Span[] {
  return at === null ? never : [{ since: at }]
}

function until(at: EpochSeconds | null): readonly Span[] {
  return at === null ? always : [{ until: at }]
}
