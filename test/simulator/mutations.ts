/**
 * Lines that keep a promise, each with what it could be instead by mistake. The simulator must find
 * every one.
 */

export type Mutation = {
  readonly promise: string
  /** Needs lists of several pages: shorter ones are read whole each time. */
  readonly needsLists?: true
  readonly file: string
  /** Occurs exactly once. */
  readonly line: string
  readonly instead: string
}

export const mutations: readonly Mutation[] = [
  {
    promise: 'the intent to send is durable before the request leaves',
    file: 'src/outbox/send/send-request.ts',
    line: `decision = isStale ? 'stale' : (await mark()) ? 'recorded' : 'superseded'`,
    instead: `decision = isStale ? 'stale' : (void mark(), 'recorded')`,
  },
  {
    promise: 'a compare-and-set decides who sends, and whether it may still be sent',
    file: 'src/outbox/sql/claims.ts',
    line: `id = \${writeback.id} and status = 'queued' and fencing_token`,
    instead: `id = \${writeback.id} or false and fencing_token`,
  },
  {
    promise: 'a slot is free a window after the answer, not after the sending',
    file: 'src/service/core/budget.ts',
    line: `addSlots(remaining, roundUpToGrain(state.at + windowMs, windowMs))`,
    instead: `addSlots(remaining, roundUpToGrain(slot.grantedAt + windowMs, windowMs))`,
  },
  {
    promise: 'rows and cursor are committed together',
    needsLists: true,
    file: 'src/mirror/sql/commit-page.ts',
    line: `  return inTransaction(context, async (trx) => {\n    let escaped`,
    instead: `  for (const page of pages) await writeCursors(context, page.cursors ?? {})\n  return inTransaction(context, async (trx) => {\n    let escaped`,
  },
  {
    promise: 'an incremental run looks back for rows that appeared late',
    needsLists: true,
    file: 'src/mirror/sync/lists.ts',
    line: `stored === null ? known : withLookBack(run, stream.name, known)`,
    instead: `known`,
  },
  {
    promise: 'a reply is looked for by ids: any new message may be it',
    file: 'src/outbox/handlers/match-reply.ts',
    // Verification and the last look before a send both use it.
    line: `  return messages.filter(({ id }) => !before.has(id) && !matchedIds.has(id))`,
    instead: `  return messages.filter(({ id }) => before.has(id) && matchedIds.has(id))`,
  },
  {
    promise: 'a lane is first in, first out',
    file: 'src/outbox/sql/claimable.ts',
    line: `export const nextInLaneSql = sql\`\${firstInLaneSql} and \${laneIdleSql}\``,
    instead: `export const nextInLaneSql = sql\`\${laneIdleSql}\``,
  },
  {
    promise: 'the budget is closed after its record was lost',
    file: 'src/service/rate-limit/budget-store.ts',
    line: `state: closeBudget(policy, known, now, maxDurationMs)`,
    instead: `state: startBudget(known, now)`,
  },
  {
    promise: 'an older copy never replaces a newer one',
    file: 'src/mirror/sql/upsert-rows.ts',
    line: `excluded.asked_at >= \${stored('asked_at')}`,
    instead: `excluded.asked_at > 0`,
  },
  {
    promise: 'an expired write-back never goes',
    file: 'src/outbox/sql/claims.ts',
    line: `if (await isExpired(trx, writeback, now)) return false`,
    instead: `await isExpired(trx, writeback, now)`,
  },
  {
    promise: 'a request that may have arrived counts as one that did',
    file: 'src/outbox/send/settle-request.ts',
    line: `      if (!mayHaveBeenSent) return`,
    instead: `      if (!mayHaveBeenSent || status === null) return`,
  },
]
