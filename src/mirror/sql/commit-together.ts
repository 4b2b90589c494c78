/** Commits pages of child lists in one transaction, with one statement of each kind for the pages of a stream. */

import type { ChildStreamName, StreamName } from '../../../schema/stream-specs.ts'
import type { CommitResult, MirrorCommit } from '../core/mirror.ts'
import type { StreamFields } from './discovered-columns/field-records.ts'
import type { EncodedRow } from './encode-value.ts'
import { encodeRows, type InsertPlan, type InsertPlans } from './insert-plan.ts'
import { marksFactsOfParent, recordChildReads } from './pending-children.ts'
import { markFactsOfRows } from './pending-facts.ts'
import { inTransaction, type ProjectContext } from './project-context.ts'
import { addEscapedCount } from './sync-runs.ts'

/** No two pages have the same stream and parent. Null: a page has rows that cannot be stored. */
export function createGroupCommitter(
  context: ProjectContext,
  planFor: InsertPlans,
): (pages: readonly MirrorCommit[]) => Promise<readonly CommitResult[] | null> {
  const { escapeCount } = context
  return async (pages) => {
    const fields = await ensureColumns(context, pages)
    const escapedBefore = escapeCount.escaped
    const encoded = pages.map((page): EncodedPage => {
      const plan = planFor(page.stream, fields.get(page.stream) as StreamFields, false)
      return { page, plan, ...encodeRows(plan, page.rows, page.requestedAt) }
    })
    if (encoded.some(({ rowsWithoutKey }) => rowsWithoutKey.length > 0)) return null
    return inTransaction(context, async (trx) => {
      const changed = new Map<EncodedPage, number>()
      for (const [stream, ofStream] of Map.groupBy(encoded, ({ page }) => page.stream))
        for (const [page, count] of await storePages(trx, stream as ChildStreamName, ofStream)) changed.set(page, count)
      await addEscapedCount(trx, escapeCount.escaped - escapedBefore)
      return encoded.map((page) => ({ changed: changed.get(page) ?? 0 }))
    })
  }
}

type EncodedPage = {
  readonly page: MirrorCommit
  readonly plan: InsertPlan
  readonly rows: readonly EncodedRow[]
  readonly rowsWithoutKey: readonly unknown[]
}

/** A later page may widen a column of an earlier one, so statements are made after all pages have their columns. */
async function ensureColumns(context: ProjectContext, pages: readonly MirrorCommit[]) {
  const fields = new Map<StreamName, StreamFields>()
  for (const { stream, rows, requestedAt } of pages)
    fields.set(stream, await context.fields.ensureColumns(stream, rows, requestedAt))
  return fields
}

/** Returns how many rows of each page were new or changed. */
async function storePages(trx: ProjectContext, stream: ChildStreamName, pages: readonly EncodedPage[]) {
  const changed = await (trx.kind === 'sqlite' ? upsertEach(trx, pages) : upsertAll(trx, pages))
  const unmarked = changed.filter(([{ page }, count]) => count > 0 && !isMarkedByRead(page))
  await markFactsOfRows(
    trx,
    stream,
    unmarked.map(([page]) => parentOf(page)),
  )
  const reads = changed.flatMap(([{ page }, count]) => {
    const { childRead: read, requestedAt: now } = page
    return read === undefined ? [] : [{ read, now, hasChanges: count > 0 }]
  })
  await recordChildReads(trx, stream, reads)
  return changed
}

type ChangedRows = readonly (readonly [page: EncodedPage, count: number])[]

/** SQLite has no round trips, and counts the changed rows of a statement faster than it lists them. */
async function upsertEach(trx: ProjectContext, pages: readonly EncodedPage[]): Promise<ChangedRows> {
  const changed: [EncodedPage, number][] = []
  for (const page of pages) changed.push([page, (await trx.upsert(trx.db, page.plan.shape, page.rows)).changed])
  return changed
}

async function upsertAll(trx: ProjectContext, pages: readonly EncodedPage[]): Promise<ChangedRows> {
  const [plan] = pages.map((page) => page.plan)
  if (plan === undefined) return []
  const rows = pages.flatMap((page) => page.rows)
  const { returned } = await trx.upsert(trx.db, plan.shapeReturningKey, rows)
  const byParent = Map.groupBy(returned, (parent) => parent)
  return pages.map((page) => [page, byParent.get(parentOf(page))?.length ?? 0])
}

function isMarkedByRead({ childRead }: MirrorCommit): boolean {
  return childRead !== undefined && marksFactsOfParent(childRead)
}

/** As it is stored: the first part of the key of all rows of a page. */
function parentOf({ plan, rows }: EncodedPage): string {
  return String(rows[0]?.[plan.keyIndexes[0] ?? 0] ?? '')
}
