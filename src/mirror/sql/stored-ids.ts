/**
 * Ids in the letters in which they are stored: those in which the service first showed them. It may
 * show, or be asked for, the same UUID in others.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { type ListStreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { idIdentity } from '../../service/core/path-segment.ts'
import { inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { type EncodedRow, textsOf } from './encode-rows.ts'
import { markFactsOfRows } from './pending-facts.ts'

/**
 * `from … where …` for the rows of a list. Both databases compare ids in lower case, which is more
 * than their identity where they are no UUIDs.
 */
export function fromRowsWithIds(
  { kind, project }: Pick<ProjectDb, 'kind' | 'project'>,
  stream: ListStreamName,
  ids: readonly string[],
) {
  const { table } = streamSpecs[stream]
  const lowered = [...new Set(ids.map((id) => id.toLowerCase()))]
  return sql`from ${sql.table(table)} ${usingIndex(kind, `${table}_by_identity`)}
    where project_id = ${project} and lower(id) ${inList(kind, lowered)}`
}

/** Without statistics, SQLite would take the index of the key, of which only the project helps. */
function usingIndex(kind: DatabaseKind, index: string) {
  return kind === 'sqlite' ? sql`indexed by ${sql.ref(index)}` : sql``
}

/** As a transaction has read it. Times as RFC 3339. */
type StoredRow = Readonly<Record<string, string | null>> & { readonly id: string }
export type StoredRows = ReadonlyMap<string, StoredRow>

/**
 * The rows with their ids, and those of visitors that they name, as they are stored; one row for
 * each id. `before`: what is stored in `columns`, by id.
 */
export async function withStoredIds(
  trx: ProjectDb,
  stream: ListStreamName,
  rows: readonly EncodedRow[],
  columns: readonly string[],
) {
  const { mapped, stored } = await mapColumn(trx, stream, rows, 'id', columns)
  if (stream === 'visitors') await respellVisitors(trx, textsOf(mapped, 'id'))
  const all =
    stream === 'conversations'
      ? (await mapColumn(trx, 'visitors', mapped, 'visitor_id')).mapped
      : mapped
  return {
    rows: [...new Map(all.map((row) => [row.id, row])).values()],
    before: new Map(stored.map((row) => [row.id, row])),
  }
}

async function mapColumn(
  context: ProjectDb,
  stream: ListStreamName,
  rows: readonly EncodedRow[],
  column: string,
  columns: readonly string[] = [],
) {
  const ids = textsOf(rows, column)
  const read = ['id', ...columns].map((name) =>
    name === 'raw' ? sql`cast(raw as text) as raw` : sql.ref(name),
  )
  const { rows: stored } = await sql<StoredRow>`
    select ${sql.join(read)} ${fromRowsWithIds(context, stream, ids)}`.execute(context.db)
  const spellings = new Map(stored.map(({ id }) => [idIdentity(id), id]))
  for (const id of ids) if (!spellings.has(idIdentity(id))) spellings.set(idIdentity(id), id)
  const mapped = rows.map((row) => {
    const id = row[column]
    return typeof id === 'string' ? { ...row, [column]: spellings.get(idIdentity(id)) ?? id } : row
  })
  return { mapped, stored }
}

/** Conversations may have been stored before their visitors, with other letters. */
async function respellVisitors(trx: ProjectDb, ids: readonly string[]) {
  const { db, kind, project } = trx
  const spellings = new Map(
    ids.flatMap((id) =>
      [id.toLowerCase(), id.toUpperCase()]
        .filter((other) => other !== id)
        .map((other) => [other, id]),
    ),
  )
  const { rows } = await sql<{ id: string; visitor: string }>`
    select id, visitor_id as visitor from conversations
    ${usingIndex(kind, 'conversations_by_visitor')}
    where project_id = ${project} and visitor_id ${inList(kind, [...spellings.keys()])}`.execute(db)
  for (const { id, visitor } of rows) {
    const own = spellings.get(visitor)
    if (own === undefined || idIdentity(own) !== idIdentity(visitor)) continue
    await sql`update conversations set visitor_id = ${own} where project_id = ${project}
      and id = ${id}`.execute(db)
    await markFactsOfRows(trx, 'conversations', [id])
  }
}
