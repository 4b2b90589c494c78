/** Brings the rows of an older version to this version's form: keys of activity entries, and texts of messages. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { asJsonObject, parseJson, type Scalar } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { UserError } from '../../values/user-error.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { listParameter, rowsParameter } from '../../warehouse/dialect.ts'
import { decodeJson, encodeJson } from '../../warehouse/escape.ts'
import { createProjectDb } from '../../warehouse/project-db.ts'
import { entryId, occurredAt, renewActivityKey } from '../core/item-fields.ts'
import { fieldsNotInColumns, messageFields } from '../core/message-fields.ts'
import { requestFullRereads } from './pending-children.ts'
import { markFactsOfRows } from './pending-facts.ts'
import { type Rewrite, type RewriteOptions, readPosition, rewriteInBatches } from './rewrite-in-batches.ts'

/** The next rows are of this visitor or a later one. `rereadProject`: the last project whose activity is to be read again. */
type ActivityPosition = readonly [project: ProjectId, visitor: string, rereadProject: string | null]

type StoredEntry = {
  readonly project: ProjectId
  readonly visitor: string
  readonly older: string
  readonly ordinal: number
  readonly raw: string
}

const activityStart: ActivityPosition = ['', '', null]

/** Nothing else writes until all keys are rewritten, as an entry that is read again would be stored twice. */
const activityKeys: Rewrite<ActivityPosition, StoredEntry> = {
  name: 'visitor_activity.entry_hash',
  table: 'visitor_activity',
  start: activityStart,
  rowsAfter: (_kind, [project, visitor]) => sql`
    select project_id as project, visitor_id as visitor, entry_hash as older, ordinal, cast(raw as text) as raw
    from visitor_activity where (project_id, visitor_id) >= (${project}, ${visitor}) and length(entry_hash) = 64
    order by project_id, visitor_id, entry_hash, ordinal`,
  rewriteRows: async (trx, kind, stored, [project, visitor, reread]) => {
    const entries = stored.map((entry): RenewedEntry => {
      const item = parseJson(decodeJson(kind, entry.raw))
      const key = renewActivityKey(item, occurredAt(item), entry.older)
      return { ...entry, ordinal: Number(entry.ordinal), key, hasId: entryId(item) !== null }
    })
    await storeKeys(trx, kind, entries)
    const rereadProject = await markFactsAndRereads(trx, kind, entries, reread)
    const last = entries.at(-1) ?? { project, visitor }
    return [last.project, last.visitor, rereadProject]
  },
}

export function rewriteActivityKeys(db: Db, kind: DatabaseKind, options?: RewriteOptions) {
  return rewriteInBatches(db, kind, activityKeys, options)
}

/** For a process that only reads: throws UserError while keys of an older version are left. */
export async function requireActivityKeys(db: Db): Promise<void> {
  if ((await readPosition(db, activityKeys.name, activityStart)) === null) return
  throw new UserError({
    what: 'cannot read the warehouse',
    why: 'the keys of its activity entries are from an older version, and are being rewritten or still have to be',
    next: 'run `deskmirror migrate`, which shows the progress',
    exitCode: 2,
  })
}

type RenewedEntry = StoredEntry & { readonly key: string; readonly hasId: boolean }

const keyColumns = { project: 'text', visitor: 'text', key: 'text' } as const
type EntryKey = Pick<RenewedEntry, keyof typeof keyColumns>

/** Entries with the same key are numbered in the order that they had, after those that an earlier batch gave this key. */
async function storeKeys(trx: Db, kind: DatabaseKind, entries: readonly RenewedEntry[]): Promise<void> {
  if (entries.length === 0) return
  const nameOf = ({ project, visitor, key }: EntryKey) => JSON.stringify([project, visitor, key])
  const distinct = [...new Map(entries.map((entry) => [nameOf(entry), entry])).values()]
  const { rows } = await sql<EntryKey & { count: number }>`
    select listed.project, listed.visitor, listed.key, max(visitor_activity.ordinal) + 1 as count
    from ${rowsParameter(kind, keyColumns, distinct)} as listed join visitor_activity on project_id = listed.project
      and visitor_id = listed.visitor and entry_hash = listed.key
    group by listed.project, listed.visitor, listed.key`.execute(trx)
  const counts = new Map(rows.map((row) => [nameOf(row), Number(row.count)]))
  const numbered = entries.map((entry) => {
    const number = counts.get(nameOf(entry)) ?? 0
    counts.set(nameOf(entry), number + 1)
    return { ...entry, number }
  })
  const columns = { ...keyColumns, older: 'text', ordinal: 'integer', number: 'integer' } as const
  await sql`
    update visitor_activity set entry_hash = listed.key, ordinal = listed.number
    from ${rowsParameter(kind, columns, numbered)} as listed
    where project_id = listed.project and visitor_id = listed.visitor and entry_hash = listed.older
      and visitor_activity.ordinal = listed.ordinal`.execute(trx)
}

/**
 * Facts depend on the order of keys. Where an id occurred twice, entries may have overwritten each other: all activity of
 * that project is read again. Returns the last project for which this is requested.
 */
async function markFactsAndRereads(
  trx: Db,
  kind: DatabaseKind,
  entries: readonly RenewedEntry[],
  rereadProject: string | null,
) {
  let last = rereadProject
  for (const [project, ofProject] of Map.groupBy(entries, (entry) => entry.project)) {
    const context = createProjectDb(trx, kind, project)
    const withIds = ofProject.filter(({ hasId }) => hasId)
    await markFactsOfRows(context, 'visitor_activity', [...new Set(withIds.map(({ visitor }) => visitor))])
    if (project === last || !withIds.some(({ ordinal }) => ordinal > 0)) continue
    await requestFullRereads(context, 'visitor_activity', 'all', context.clock())
    last = project
  }
  return last
}

/** The last row that has been rewritten. */
type MessagePosition = readonly [project: ProjectId, conversation: string, id: string]
type StoredMessage = Readonly<Record<string, Scalar>> & { readonly project: ProjectId; readonly raw: string | null }

/** What the columns of a message hold is not repeated. Rows are readable in either form meanwhile. */
const messageTexts: Rewrite<MessagePosition, StoredMessage> = {
  name: 'messages.raw',
  table: 'message_rows',
  start: ['', '', '0'],
  rowsAfter: (kind, [project, conversation, id]) => {
    const columns = sql.join(Object.values(messageFields).map(([column]) => sql.ref(column)))
    return sql<StoredMessage>`
      select project_id as project, ${columns}, cast(raw as text) as raw from message_rows
      where (project_id, conversation_id, id) > (${project}, ${conversation}, ${integer(kind, sql`${id}`)})
      order by project_id, conversation_id, id`
  },
  rewriteRows: async (trx, kind, rows, position) => {
    await shortenRows(trx, kind, rows)
    const last = rows.at(-1)
    return last === undefined ? position : positionOf(last)
  },
}

function integer(kind: DatabaseKind, value: ReturnType<typeof sql>) {
  return kind === 'sqlite' ? sql`cast(${value} as integer)` : sql`cast(${value} as bigint)`
}

function positionOf({ project, conversation_id: conversation, id }: StoredMessage): MessagePosition {
  return [project, String(conversation), String(id)]
}

/** One statement for the rows of a conversation that keep the same, as most keep nothing: each is a round trip in Postgres. */
async function shortenRows(trx: Db, kind: DatabaseKind, rows: readonly StoredMessage[]): Promise<void> {
  const shortened = rows.flatMap((row) => {
    const raw = shorten(kind, row)
    return raw === null ? [] : [{ key: positionOf(row), raw }]
  })
  for (const alike of Map.groupBy(shortened, ({ key: [project, conversation], raw }) =>
    JSON.stringify([project, conversation, raw]),
  ).values()) {
    const [{ key: [project, conversation] = [], raw } = {}] = alike
    const ids = listParameter(
      kind,
      alike.map((row) => row.key[2]),
    )
    const listed = sql`select ${integer(kind, sql`value`)} from ${ids} as listed`
    await sql`
      update message_rows set raw = ${kind === 'postgres' && raw === '{}' ? null : raw}
      where project_id = ${project} and conversation_id = ${conversation}
        and id ${kind === 'sqlite' ? sql`in (${listed})` : sql`= any(array(${listed}))`}`.execute(trx)
  }
}

/** Null: it is short already. */
function shorten(kind: DatabaseKind, { raw, ...columns }: StoredMessage): string | null {
  const message = raw === null ? null : asJsonObject(parseJson(decodeJson(kind, raw)))
  if (message === null || !Object.hasOwn(message, 'id')) return null
  return encodeJson(kind, fieldsNotInColumns(message, columns))
}

export function rewriteRaw(db: Db, kind: DatabaseKind, options?: RewriteOptions) {
  return rewriteInBatches(db, kind, messageTexts, options)
}

/** Rewrites the rows that migrations have left to be rewritten. */
export async function rewriteRows(db: Db, kind: DatabaseKind, options: RewriteOptions) {
  const keys = await rewriteActivityKeys(db, kind, options)
  if (!keys.isComplete) return keys
  const onProgress = (rows: number, left: number) => options.onProgress?.(keys.rows + rows, left)
  const { rows, isComplete } = await rewriteRaw(db, kind, { ...options, onProgress })
  return { rows: keys.rows + rows, isComplete }
}
