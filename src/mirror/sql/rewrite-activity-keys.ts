/**
 * Rewrites the keys of activity entries that an older version stored. Nothing else writes until all are rewritten, as an
 * entry that is read again would be stored twice.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { parseJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { UserError } from '../../values/user-error.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { rowsParameter } from '../../warehouse/dialect.ts'
import { decodeJson } from '../../warehouse/escape.ts'
import { createProjectDb } from '../../warehouse/project-db.ts'
import { entryId, occurredAt, renewActivityKey } from '../core/item-fields.ts'
import { requestFullRereads } from './pending-children.ts'
import { markFactsOfRows } from './pending-facts.ts'
import { type Rewrite, type RewriteOptions, readPosition, rewriteInBatches } from './rewrite-in-batches.ts'

/** The next rows are of this visitor or a later one. `rereadProject`: the last project whose activity is to be read again. */
type Position = readonly [project: ProjectId, visitor: string, rereadProject: string | null]

type StoredEntry = {
  readonly project: ProjectId
  readonly visitor: string
  readonly older: string
  readonly ordinal: number
  readonly raw: string
}

const start: Position = ['', '', null]

const rewrite: Rewrite<Position, StoredEntry> = {
  name: 'visitor_activity.entry_hash',
  table: 'visitor_activity',
  start,
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
  return rewriteInBatches(db, kind, rewrite, options)
}

/** For a process that only reads: throws UserError while keys of an older version are left. */
export async function requireActivityKeys(db: Db): Promise<void> {
  if ((await readPosition(db, rewrite.name, start)) === null) return
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
