/** What the service turned out to do and to send: behaviours, webhooks, undocumented fields. */
import { type RawBuilder, sql } from 'kysely'
import type { FieldRow, SchemaData, ServiceData } from '../../core/console/data.ts'
import { isPagedStream, type StreamName, streamSpecs } from '../../core/stream-specs.ts'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { readBehaviours } from '../status.ts'

const deliveryDays = 30

export async function readServiceFacts({ db, project, typed }: ProjectDb, now: EpochMs): Promise<ServiceData> {
  const since = toTimestamp(now - deliveryDays * 86_400_000)
  const { rows } = await sql<ServiceData['deliveries'][number]>`
    select coalesce(found, 'not processed yet') as found, count(*) as count, max(received_at) as last
    from webhook_deliveries where project_id = ${project} and received_at >= ${typed('time', since)}
    group by 1 order by 2 desc limit 50`.execute(db)
  const deliveries = rows.map((row) => ({ ...row, count: Number(row.count) }))
  return { behaviours: await readBehaviours(db, project), deliveries }
}

type StoredField = Omit<FieldRow, 'filled'>

const sampledRows = 1000
const maxFields = 500

export async function readFields(context: ProjectDb): Promise<SchemaData> {
  const { rows } = await sql<StoredField>`
    select stream, path, column_name as "column", type, first_seen_at as "firstSeen" from discovered_fields
    where project_id = ${context.project} order by first_seen_at desc, stream, path limit ${maxFields}`.execute(
    context.db,
  )
  const byStream = Map.groupBy(rows, ({ stream }) => stream)
  const filled = new Map<string, number>()
  for (const [stream, fields] of byStream) {
    const columns = fields.flatMap(({ column }) => column ?? [])
    for (const [column, share] of await readShares(context, stream, columns)) filled.set(`${stream} ${column}`, share)
  }
  const fields = rows.map((row) => ({ ...row, filled: filled.get(`${row.stream} ${row.column}`) ?? null }))
  return { fields, sampled: sampledRows }
}

/** The share of the newest rows that have each column; of streams without a time, of some rows. */
async function readShares(
  { db, project }: ProjectDb,
  stream: StreamName,
  columns: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (columns.length === 0) return new Map()
  const { table } = streamSpecs[stream]
  const column = isPagedStream(stream) ? streamSpecs[stream].startColumn : null
  const order: RawBuilder<unknown> = column === null ? sql`` : sql`order by ${sql.ref(column)} desc`
  const counts = columns.map((name, n) => sql`count(${sql.ref(name)}) as ${sql.ref(`n${n}`)}`)
  const { rows } = await sql<Record<string, number>>`
    select count(*) as total, ${sql.join(counts)}
    from (select * from ${sql.table(table)} where project_id = ${project} ${order} limit ${sampledRows}) as newest`.execute(
    db,
  )
  const total = Number(rows[0]?.total ?? 0)
  return new Map(columns.map((name, n) => [name, total === 0 ? 0 : Number(rows[0]?.[`n${n}`] ?? 0) / total]))
}
