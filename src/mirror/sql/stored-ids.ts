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
import type { EncodedRow } from './encode-value.ts'
import type { InsertPlan } from './insert-plan.ts'
import { markFactsOfRows } from './pending-facts.ts'

/** The stored letters of ids, by their identity; ids that are not stored are missing. */
async function readStoredIds(
  { db, kind, project }: ProjectDb,
  stream: ListStreamName,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(streamSpecs[stream].table)} ${byIdentity(kind, stream)}
    where project_id = ${project} and lower(id) ${inList(kind, lowered(ids))}`.execute(db)
  return new Map(rows.map(({ id }) => [idIdentity(id), id]))
}

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
export async function withStoredIds(trx: ProjectDb, stream: StreamName, plan: InsertPlan, rows: readonly EncodedRow[]) {
  if (!isListStream(stream)) return rows
  const mapped = await mapColumn(trx, stream, plan, rows, 'id')
  if (stream === 'visitors') await respellVisitors(trx, columnTexts(plan, mapped, 'id'))
  const all = stream === 'conversations' ? await mapColumn(trx, 'visitors', plan, mapped, 'visitor_id') : mapped
  const at = columnIndex(plan, 'id')
  return [...new Map(all.map((row) => [row[at], row])).values()]
}

async function mapColumn(
  trx: ProjectDb,
  stream: ListStreamName,
  plan: InsertPlan,
  rows: readonly EncodedRow[],
  column: string,
): Promise<readonly EncodedRow[]> {
  const at = columnIndex(plan, column)
  const ids = columnTexts(plan, rows, column)
  const stored = await readStoredIds(trx, stream, ids)
  for (const id of ids) if (!stored.has(idIdentity(id))) stored.set(idIdentity(id), id)
  return rows.map((row) => {
    const id = row[at]
    const own = typeof id === 'string' ? stored.get(idIdentity(id)) : undefined
    return own === undefined || own === id ? row : row.with(at, own)
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

function columnIndex({ shape }: InsertPlan, column: string): number {
  return shape.columns.findIndex(({ name }) => name === column)
}

function columnTexts(plan: InsertPlan, rows: readonly EncodedRow[], column: string): string[] {
  const at = columnIndex(plan, column)
  return rows.flatMap((row) => (typeof row[at] === 'string' ? [row[at]] : []))
}
