/** Works through the rows of an audit that are in one state, batch by batch. */
import { ApiError, isBudgetUnavailable, isRefused, unreadableRowReason } from '../../service/core/api-failure.ts'
import type { EpochMs } from '../../values/time.ts'
import type { AuditedStream } from '../core/audit.ts'
import type { AuditRow, AuditRowResult, AuditStore, OpenAudit, OpenRowState } from '../core/audit-store.ts'
import { mapConcurrently } from '../sync/map-concurrently.ts'
import { throwIfSliceOver } from '../sync/stop.ts'

const batchSize = 40
const concurrency = 8
/** If so few rows fail after others could be read, the service fails for these rows. */
const fewRows = 5

type SettleDeps = {
  readonly store: AuditStore
  readonly now: () => EpochMs
  readonly requestCount: () => number
  readonly signal: AbortSignal
  readonly isSliceOver?: () => boolean
  readonly onRow?: (stream: AuditedStream) => void
}

/** `hasRead`: the service let something be read just now, so that it does not fail as a whole. */
type Step = {
  readonly from: OpenRowState
  readonly hasRead: boolean
  readonly settle: (row: AuditRow) => Promise<AuditRowResult>
}

/** What a row becomes that cannot be read: what was found before stays. */
const unreadableStates = { drawn: 'unreadable', suspected: 'differing', confirmed: 'differing' } as const

/** Settles all rows of a state, and counts the requests and the time. Returns whether one was read. */
export async function settleAll(deps: SettleDeps, audit: OpenAudit, { from, settle, ...step }: Step): Promise<boolean> {
  for (let hasRead = step.hasRead; ; ) {
    const rows = await deps.store.listRows(audit, from, batchSize)
    if (rows.length === 0) return hasRead
    throwIfSliceOver(deps)
    const [startedAt, before] = [deps.now(), deps.requestCount()]
    const { results, failure } = await settleBatch(rows, { from, hasRead, settle })
    hasRead ||= results.length > 0
    await deps.store.settle(audit, from, results)
    // A clock that is set back does not take away from the time.
    const tookMs = Math.max(0, deps.now() - startedAt)
    await deps.store.addWork(audit, { requests: deps.requestCount() - before, tookMs })
    for (const _ of results) deps.onRow?.(audit.stream)
    if (failure !== null) throw failure
  }
}

/** `failure`: why the others are not settled. */
type SettledBatch = { readonly results: readonly AuditRowResult[]; readonly failure: unknown }

/**
 * A row that fails while others do not is unreadable; if all of them fail, the service does. What differed before is read
 * once more as long as others can be read.
 */
async function settleBatch(rows: readonly AuditRow[], { from, hasRead, settle }: Step): Promise<SettledBatch> {
  const failed: { readonly row: AuditRow; readonly error: unknown }[] = []
  const fatal: unknown[] = []
  const toUnreadable = (row: AuditRow): AuditRowResult => ({ ...row, state: unreadableStates[from] })
  const settled = await mapConcurrently(rows, concurrency, async (row): Promise<AuditRowResult | null> => {
    if (fatal.length > 0) return null
    try {
      return await settle(row)
    } catch (error) {
      if (!isOfRow(error)) fatal.push(error)
      else if (isRefused(error) || unreadableRowReason(error) !== null) return toUnreadable(row)
      else failed.push({ row, error })
      return null
    }
  })
  const results = settled.filter((result) => result !== null)
  if (fatal.length > 0) return { results, failure: fatal[0] }
  const [first] = failed
  if (first === undefined) return { results, failure: null }
  const doAllFail = failed.length === rows.length
  if (doAllFail && !(hasRead && rows.length <= fewRows)) return { results: [], failure: first.error }
  const unreadable = doAllFail || from === 'drawn' ? failed.map(({ row }) => toUnreadable(row)) : []
  return { results: [...results, ...unreadable], failure: null }
}

/** A failure that may concern only this row. */
function isOfRow(error: unknown): boolean {
  if (!(error instanceof ApiError) || isBudgetUnavailable(error.failure)) return false
  if (unreadableRowReason(error) !== null) return true
  return error.failure.kind !== 'aborted' && error.failure.kind !== 'denied'
}
