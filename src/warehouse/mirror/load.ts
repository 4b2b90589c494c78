/** One answered request's worth of news goes in: rows, cursors and all that follows from them, in one transaction. */
import { sql } from 'kysely'
import { tables } from '../../../schema/tables.ts'
import { type ChildRead, type Commit, type Committed, childStreams } from '../../core/mirror.ts'
import { type Gap, type Refused, type StreamName, whyRefused } from '../../core/row.ts'
import { bound } from '../database/dialect.ts'
import { isAboutValues } from '../database/refusal.ts'
import type { Db } from '../database/session.ts'
import type { Bound } from './cell.ts'
import { noteSeen } from './census.ts'
import { settleChild, unlisted, wantChildren } from './children.ts'
import type { Context } from './context.ts'
import { afterStore, disputed, readBefore, toCheck } from './conversations.ts'
import { brief } from './gap-subject.ts'
import { closeGap, openGap } from './gaps.ts'
import { learn, moveCursors } from './knowledge.ts'
import { replaceMetrics } from './metrics.ts'
import { bindAll, createPlans, type Plan } from './plan.ts'
import { makeRoom } from './rollups.ts'
import { type Sifted, sift } from './sift.ts'
import { tableOf } from './stream-tables.ts'
import { write } from './write.ts'

/** Keeps what it compiles. */
export function createCommit(c: Context): (commit: Commit) => Promise<Committed> {
  const planFor = createPlans(c)
  const store = async (commit: Commit): Promise<Committed> => {
    const fields = await c.fields.admit(commit.stream, commit.rows, commit.askedAt)
    const plan = planFor(commit.stream, fields, commit.authoritative ?? false)
    const escaped = c.tally.escaped
    const { rows, unkeyed } = bindAll(plan, commit.rows, commit.askedAt)
    const all = async (trx: Db) => ({ changed: await storeRows(c, trx, plan, rows, commit), refused: [] })
    const each = (trx: Db) => sift(trx, plan, rows, (some) => storeRows(c, trx, plan, some, commit))
    const go = (stored: (trx: Db) => Promise<Sifted>) =>
      write(c, async (trx) => {
        const { changed, refused: unfit } = await stored(trx)
        const refused = [...(commit.refused ?? []), ...unkeyed, ...unfit]
        await storeNews(c, trx, commit, refused)
        if (c.tally.escaped > escaped) await countEscaped(c, trx, c.tally.escaped - escaped)
        return refused.length === 0 ? { changed } : { changed, refused }
      })
    // Rows that a database refuses are rare: only then the others are stored apart from them.
    return go(all).catch((error) => (isAboutValues(error) === null ? Promise.reject(error) : go(each)))
  }
  return (commit) => c.inTurn(() => store(commit))
}

async function storeRows(c: Context, trx: Db, plan: Plan, rows: Bound[][], commit: Commit): Promise<number> {
  const { stream, askedAt: now } = commit
  if (stream === 'analytics') await makeRoomFor(c, trx, plan, rows)
  if (rows.length === 0) return 0
  const before = stream === 'conversations' ? await readBefore(c, trx, plan, rows) : null
  const { changed, returned } = await c.upsert(trx, plan.shape, rows)
  const stored = new Set(returned)
  if (before !== null) {
    await afterStore(c, trx, { plan, rows, before, stored, now })
    await noteSeen(c, trx, toCheck, disputed(plan, rows, before, stored))
  }
  if (stream === 'visitors') await wantChildren(c, trx, 'visitor_activity', returned, now)
  if (stream === 'calls') await wantChildren(c, trx, 'call_recordings', returned, now)
  const seen = looked[stream]
  if (seen !== undefined) await touch(c, trx, plan, rows, seen, now)
  if (stream === 'analytics') await refreshMetrics(c, trx, plan, rows, stored)
  if (commit.census !== undefined) await noteSeen(c, trx, commit.census, keysOf(plan, rows))
  return changed
}

async function storeNews(c: Context, trx: Db, commit: Commit, refused: readonly Refused[]): Promise<void> {
  const { stream, child } = commit
  if (child !== undefined) await settleChild(c, trx, withRefused(child, refused), commit.askedAt)
  for (const gap of commit.gaps ?? []) await openGap(c, trx, gap)
  for (const subject of commit.filled ?? []) await closeGap(c, trx, stream, subject)
  if (child === undefined) for (const row of refused) await openGap(c, trx, ...gapOf(commit, row))
  await learn(c, trx, commit.learned ?? [])
  await moveCursors(c, trx, commit.cursors ?? {})
}

function withRefused(child: ChildRead, refused: readonly Refused[]): ChildRead {
  if (refused.length === 0) return child
  const why = [...new Set([...(child.why === undefined ? [] : [child.why]), ...refused.map(whyRefused)])].join('; ')
  return { ...child, complete: false, why }
}

/** What a parent's list lacks is a gap of that parent: it closes when the list has been read whole. */
function gapOf({ stream, rows }: Commit, row: Refused): [gap: Gap, subject?: string] {
  const gap = { stream, from: null, to: null, reason: whyRefused(row) }
  const [first] = tables[tableOf[stream]].key.filter((name) => name !== 'project_id')
  const parent = stream in childStreams ? rows[0]?.columns[first ?? ''] : undefined
  if (typeof parent === 'string') return [gap, unlisted(parent)]
  return row.id === null ? [gap] : [gap, `row:${brief(row.id)}`]
}

function keysOf(plan: Plan, rows: readonly Bound[][]): string[] {
  const [key = 0] = plan.key
  return rows.map((row) => String(row[key]))
}

/** Columns that say when we last looked, by stream. */
const looked: Partial<Record<StreamName, string>> = { call_recordings: 'checked_at', analytics: 'read_at' }

/** That we looked again is written even where nothing changed, and counts as no change. */
async function touch(c: Context, trx: Db, plan: Plan, rows: readonly Bound[][], column: string, now: number) {
  const { table, columns } = plan.shape
  const at = columns.findIndex(({ name }) => name === column)
  for (const row of rows) {
    const key = sql.join(
      plan.key.map((i) => sql`${sql.ref(columns[i]?.name ?? '')} = ${row[i]}`),
      sql` and `,
    )
    await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${row[at]}
      where project_id = ${c.project} and ${key} and asked_at <= ${now}
        and ${sql.ref(column)} is distinct from ${bound(c.kind, 'time', row[at])}`.execute(trx)
  }
}

async function makeRoomFor(c: Context, trx: Db, plan: Plan, rows: readonly Bound[][]): Promise<void> {
  for (const row of rows) {
    const cell = (name: string) => String(row[plan.shape.columns.findIndex((column) => column.name === name)])
    const [window_from, window_to] = [cell('window_from'), cell('window_to')]
    await makeRoom(c, trx, { window_from, window_to, time_zone: cell('time_zone') })
  }
}

async function refreshMetrics(
  c: Context,
  trx: Db,
  plan: Plan,
  rows: readonly Bound[][],
  stored: ReadonlySet<string>,
): Promise<void> {
  const at = (name: string) => plan.shape.columns.findIndex((column) => column.name === name)
  const [from, raw] = [at('window_from'), at('raw')]
  for (const row of rows) {
    if (stored.has(String(row[from]))) await replaceMetrics(c, trx, plan, row, String(row[raw]))
  }
}

/** The run keeps the count of strings that the database could not hold as they were. */
async function countEscaped(c: Context, trx: Db, count: number): Promise<void> {
  await trx
    .updateTable('sync_runs')
    .set((eb) => ({ strings_escaped: eb('strings_escaped', '+', count) }))
    .where('project_id', '=', c.project)
    .where('id', '=', c.run() ?? '')
    .execute()
}
