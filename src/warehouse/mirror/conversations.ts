/** What changed in conversations: the history that the service does not keep, and what is to be read because of it. */
import { sql } from 'kysely'
import type { tables } from '../../../schema/tables.ts'
import { rfc3339 } from '../../core/time.ts'
import { each } from '../database/dialect.ts'
import { newId } from '../database/identity.ts'
import type { Db } from '../database/session.ts'
import type { Bound } from './cell.ts'
import { wantChildren, wantKnownChildren } from './children.ts'
import type { Context } from './context.ts'
import type { Plan } from './plan.ts'

/** The columns whose history is kept. */
export const watched = [
  'status',
  'last_message_at',
  'last_message_sender_type',
  'handled_at',
  'waiting_since',
  'assigned_agent_id',
  'origin',
] as const satisfies readonly (keyof (typeof tables)['conversations']['columns'])[]

/** Those of them that change with a message, whichever way its time goes. */
const tells = ['last_message_at', 'last_message_sender_type'] as const satisfies readonly (typeof watched)[number][]

export type Before = ReadonlyMap<string, Readonly<Record<string, string | null>>>

/** The stored conversations among those of a page, before it is stored. */
export async function readBefore(c: Context, trx: Db, plan: Plan, rows: readonly Bound[][]): Promise<Before> {
  const ids = rows.map((row) => value(plan, row, 'id') ?? '')
  const { rows: stored } = await sql<Record<string, string | null>>`
    select id, deleted_at, ${sql.join(watched.map((name) => sql.ref(name)))} from conversations
    where project_id = ${c.project} and id in (select value from ${each(c.kind, ids)} as listed)`.execute(trx)
  return new Map(stored.map((row) => [row.id ?? '', row]))
}

/** The census of the conversations that are to be read by their ids, as a list may have shown an old copy of them. */
export const toCheck = 'conversations:check'

/**
 * Those that a list shows with another last message than the mirror has, and that were not stored: the copy may be an old
 * one, or a message may be dated before the one that it follows. Reading them by their ids tells.
 */
export function disputed(plan: Plan, rows: readonly Bound[][], before: Before, stored: ReadonlySet<string>): string[] {
  return rows.flatMap((row) => {
    const id = value(plan, row, 'id') ?? ''
    const old = before.get(id)
    if (old === undefined || old.last_message_at === null || stored.has(id)) return []
    return old.last_message_at === value(plan, row, 'last_message_at') ? [] : [id]
  })
}

/** Writes the history of those that were stored, and makes due what may have grown. */
export async function afterStore(
  c: Context,
  trx: Db,
  page: { plan: Plan; rows: readonly Bound[][]; before: Before; stored: ReadonlySet<string>; now: number },
): Promise<void> {
  const { plan, before, now } = page
  const rows = page.rows.filter((row) => page.stored.has(value(plan, row, 'id') ?? ''))
  const moved = rows.filter((row) => {
    const old = before.get(value(plan, row, 'id') ?? '')
    return old === undefined || old.deleted_at !== null || tells.some((name) => old[name] !== value(plan, row, name))
  })
  const pick = (name: string) => moved.map((row) => value(plan, row, name)).filter((id) => id !== null)
  await wantChildren(c, trx, 'messages', pick('id'), now)
  await wantKnownChildren(c, trx, 'visitor_activity', [...new Set(pick('visitor_id'))], now)
  const changes = rows.flatMap((row) => changesOf(c, plan, row, before, now))
  // 700 parameters a statement at most, whatever the page.
  for (let i = 0; i < changes.length; i += 100) {
    await trx
      .insertInto('conversation_changes')
      .values(changes.slice(i, i + 100))
      .execute()
  }
}

function changesOf(c: Context, plan: Plan, row: readonly Bound[], before: Before, now: number) {
  const id = value(plan, row, 'id') ?? ''
  const old = before.get(id)
  if (old === undefined) return []
  return watched
    .map((field) => ({ field, old_value: old[field] ?? null, new_value: value(plan, row, field) }))
    .filter(({ old_value, new_value }) => old_value !== new_value)
    .map((change) => ({
      project_id: c.project,
      id: newId(now),
      conversation_id: id,
      ...change,
      seen_at: rfc3339(Math.floor(now / 1000)),
    }))
}

/** Texts and times are bound as the texts that they are read as. */
function value(plan: Plan, row: readonly Bound[], name: string): string | null {
  const bound = row[plan.shape.columns.findIndex((column) => column.name === name)]
  return bound === null || bound === undefined ? null : String(bound)
}
