/**
 * Ids in the letters in which they are stored, which are those in which the service first showed them. It may show, or be
 * asked for, the same UUID in others.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { isListStream, type ListStreamName, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { idIdentity } from '../../service/core/path-segment.ts'
import { inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { EncodedRow } from './encode-rows.ts'
import { markFactsOfRows } from './pending-facts.ts'

/** Without statistics, SQLite would take the index of the key, of which only the project helps. */
export function byIdentity(kind: DatabaseKind, stream: ListStreamName) {
  return usingIndex(kind, `${streamSpecs[stream].table}_by_identity`)
}

function usingIndex(kind: DatabaseKind, index: string) {
  return kind === 'sqlite' ? sql`indexed by ${sql.ref(index)}` : sql``
}

/** Both databases compare ids in lower case, which is more than their identity where they are no UUIDs. */
export function lowered(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.map((id) => id.toLowerCase()))]
}

/** The rows of a page with their ids, and those of visitors that they name, as they are stored; one row for each id. */
export async function withStoredIds(trx: ProjectDb, stream: StreamName, rows: readonly EncodedRow[]) {
  if (!isListStream(stream)) return rows
  const mapped = await mapColumn(trx, stream, rows, 'id')
  if (stream === 'visitors') await respellVisitors(trx, texts(mapped, 'id'))
  const all = stream === 'conversations' ? await mapColumn(trx, 'visitors', mapped, 'visitor_id') : mapped
  return [...new Map(all.map((row) => [row.id, row])).values()]
}

async function mapColumn(
  { db, kind, project }: ProjectDb,
  stream: ListStreamName,
  rows: readonly EncodedRow[],
  column: string,
): Promise<readonly EncodedRow[]> {
  const ids = texts(rows, column)
  const { rows: stored } = await sql<{ id: string }>`
    select id from ${sql.table(streamSpecs[stream].table)} ${byIdentity(kind, stream)}
    where project_id = ${project} and lower(id) ${inList(kind, lowered(ids))}`.execute(db)
  const spellings = new Map(stored.map(({ id }) => [idIdentity(id), id]))
  for (const id of ids) if (!spellings.has(idIdentity(id))) spellings.set(idIdentity(id), id)
  return rows.map((row) => {
    const id = row[column]
    return typeof id === 'string' ? { ...row, [column]: spellings.get(idIdentity(id)) ?? id } : row
  })
}

/** Conversations may have been stored before their visitors, which other letters would part from them. */
async function respellVisitors(trx: ProjectDb, ids: readonly string[]) {
  const { db, kind, project } = trx
  const spellings = new Map(
    ids.flatMap((id) =>
      [id.toLowerCase(), id.toUpperCase()].filter((other) => other !== id).map((other) => [other, id]),
    ),
  )
  const { rows } = await sql<{ id: string; visitor: string }>`
    select id, visitor_id as visitor from conversations ${usingIndex(kind, 'conversations_by_visitor')}
    where project_id = ${project} and visitor_id ${inList(kind, [...spellings.keys()])}`.execute(db)
  for (const { id, visitor } of rows) {
    const own = spellings.get(visitor)
    if (own === undefined || idIdentity(own) !== idIdentity(visitor)) continue
    await sql`update conversations set visitor_id = ${own} where project_id = ${project} and id = ${id}`.execute(db)
    await markFactsOfRows(trx, 'conversations', [id])
  }
}

function texts(rows: readonly EncodedRow[], column: string): string[] {
  return rows.map((row) => row[column]).filter((value) => typeof value === 'string')
}
