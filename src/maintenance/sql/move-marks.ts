/**
 * What a warehouse says of moved projects, and the steps beside the copying: a transaction each.
 */
import { type RawBuilder, sql } from 'kysely'
import { runOn } from '../../../schema/create-missing.ts'
import { updateFence } from '../../../schema/move-fence.ts'
import { hasProject, movedTables } from '../../../schema/moved-tables.ts'
import type { DatabaseSchema } from '../../../schema/tables.ts'
import { removeSearchEntries } from '../../analytics/sql/search-index.ts'
import type { ProjectId } from '../../values/project.ts'
import { toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { databaseNowMs } from '../../warehouse/dialect.ts'
import { isFenced, readMoves, wholeWarehouse } from '../../warehouse/moves.ts'
import { createProjectDb } from '../../warehouse/project-db.ts'
import type { MoveMark } from '../core/move-state.ts'
import type { MoveSide } from './move-rows.ts'

export type StoredMark = DatabaseSchema['sync_moves'] & MoveMark
export type Marks = ReadonlyMap<ProjectId, StoredMark>

export async function readMarks({ db }: Pick<MoveSide, 'db'>): Promise<Marks> {
  const rows = (await readMoves(db)) as readonly StoredMark[]
  return new Map(rows.map((row) => [row.project_id, row]))
}

/** A warehouse that has moved as a whole says so of each of its projects. */
export function markOf(marks: Marks, project: ProjectId): StoredMark | undefined {
  const whole = marks.get(wholeWarehouse)
  return isFenced(whole) ? whole : marks.get(project)
}

/** Also makes the database refuse what it must, or accept it again. */
export async function writeMarks(
  { db, kind }: Pick<MoveSide, 'db' | 'kind'>,
  moves: readonly Pick<StoredMark, 'project_id' | 'move_id'>[],
  { state, other }: Pick<StoredMark, 'state' | 'other'>,
): Promise<void> {
  for (const { project_id, move_id } of moves) {
    const since = toTimestamp(Date.now())
    const row = { state, move_id, other, since, verified_at: null, first_place: 0 }
    await db
      .insertInto('sync_moves')
      .values({ project_id, ...row })
      .onConflict((conflict) => conflict.column('project_id').doUpdateSet(row))
      .execute()
  }
  await updateFence(runOn(db), kind)
}

/**
 * Rows of each project by table; of tables without a project, and of rows without one, under ''.
 */
export type RowsOfProjects = ReadonlyMap<ProjectId, ReadonlyMap<string, number>>

export async function countMovedRows({ db }: Pick<MoveSide, 'db'>): Promise<RowsOfProjects> {
  const counts = new Map<ProjectId, Map<string, number>>()
  for (const [table, spec] of movedTables) {
    const project = hasProject(spec) ? 'project_id' : `''`
    const rows = await runOn(db)(
      `select ${project} as project, count(*) as rows from ${table} ` +
        (hasProject(spec) ? 'group by project_id' : 'having count(*) > 0'),
    )
    for (const { project: id, rows: count } of rows) {
      const ofProject = counts.get(String(id)) ?? new Map<string, number>()
      counts.set(String(id), ofProject.set(table, Number(count)))
    }
  }
  return counts
}

/** Beyond any place that a trigger has given. */
const maxPlace = sql.lit(2 ** 62)

/**
 * What is added to the places of these projects' write-backs, so that those of others, which may
 * get more meanwhile, have other places. An interrupted move keeps its own unless they are taken.
 */
export async function reservePlaces(
  source: MoveSide,
  target: MoveSide,
  projects: readonly ProjectId[],
): Promise<number> {
  const known = Number((await readMarks(target)).get(projects[0] ?? '')?.first_place ?? 0)
  const lastPlace = async ({ db }: MoveSide, where: RawBuilder<unknown>) => {
    const { rows } = await sql<{ last: number }>`select max(last) as last from (
      select max(seq) as last from writebacks where seq < ${maxPlace} and ${where}
      union all select max(seq) from writeback_events where seq < ${maxPlace} and ${where})
      as found`.execute(db)
    return Number(rows[0]?.last ?? 0)
  }
  const own = await lastPlace(source, sql`project_id in (${sql.join(projects)})`)
  const others = sql`project_id not in (${sql.join(projects)})`
  const taken = sql`${others} and seq > ${known} and seq <= ${known + own}`
  const first = (await lastPlace(target, taken)) === 0 ? known : await lastPlace(target, others)
  if (target.kind === 'postgres') await raiseSequences(target.db, first + own)
  const ofMove = target.db.updateTable('sync_moves').set({ first_place: first })
  await ofMove.where('project_id', 'in', [...projects]).execute()
  return first
}

async function raiseSequences(db: Db, to: number): Promise<void> {
  for (const name of ['writebacks_seq', 'writeback_events_seq'])
    await sql`select setval(${name}, greatest(${sql.lit(to)}, last_value, 1))
      from ${sql.table(name)}`.execute(db)
}

/**
 * When all rows are there. A backup of the source must send nothing, so the move counts as a send.
 */
export async function takeOver(
  source: MoveSide,
  target: MoveSide,
  projects: readonly ProjectId[],
  searched: ReadonlySet<ProjectId>,
): Promise<void> {
  const { db, kind } = target
  const sends = await source.db.selectFrom('sync_sends').selectAll().execute()
  const token = sends.find(({ project_id }) => project_id === '')?.token
  const never = { token: token ?? '', held_at: null, held_why: null, resumed_at: null, sends: 0 }
  for (const project of projects.filter((id) => id !== wholeWarehouse)) {
    const before = sends.find(({ project_id }) => project_id === project) ?? never
    const row = { ...before, project_id: project, sends: Number(before.sends) + 1 }
    await db
      .insertInto('sync_sends')
      .values(row)
      .onConflict((conflict) => conflict.column('project_id').doUpdateSet(row))
      .execute()
    await removeSearchEntries(createProjectDb(db, kind, project), null)
    if (searched.has(project))
      await sql`update facts_state set rebuilt_to = '' where project_id = ${project}`.execute(db)
  }
  await takeOverKeys(source, target)
  if (projects.includes(wholeWarehouse)) await takeOverNames(source, target, token)
  const now = toTimestamp(Date.now())
  await db
    .updateTable('sync_moves')
    .set({ verified_at: now })
    .where('project_id', 'in', [...projects])
    .execute()
}

/** Projects of which words can be searched. */
export async function listSearched({ db }: MoveSide): Promise<ReadonlySet<ProjectId>> {
  const found = db.selectFrom('search_conversations').select('project_id').distinct()
  return new Set((await found.execute()).map(({ project_id }) => project_id))
}

export async function holdSends({ db }: MoveSide, projects: readonly ProjectId[], why: string) {
  await db
    .updateTable('sync_sends')
    .set({ held_at: Date.now(), held_why: why })
    .where('project_id', 'in', [...projects])
    .where('held_at', 'is', null)
    .execute()
}

/** In the source, in the transaction that marks it. */
export async function countMoveAsSend({ db }: MoveSide, projects: readonly ProjectId[]) {
  for (const project of projects.filter((id) => id !== wholeWarehouse))
    await sql`insert into sync_sends (project_id, token, sends)
      select ${sql.lit(project)}, token, 1 from sync_sends where project_id = ''
      on conflict (project_id) do update set sends = sync_sends.sends + 1`.execute(db)
}

/** Names in the queue, and of numbers outside of the database. */
async function takeOverNames(source: MoveSide, { db }: MoveSide, token: string | undefined) {
  const installation = await source.db.selectFrom('sync_installation').selectAll().execute()
  for (const { id } of installation) await db.updateTable('sync_installation').set({ id }).execute()
  if (token !== undefined)
    await db.updateTable('sync_sends').set({ token }).where('project_id', '=', '').execute()
}

/**
 * Keys were used as long ago as in the source. Without the record of its budget, a key rests until
 * none of its requests counts any more.
 */
async function takeOverKeys(source: MoveSide, { db, kind }: MoveSide): Promise<void> {
  const { rows } = await sql<{ name: string; age: number }>`
    select name, ${databaseNowMs(source.kind)} - used_at as age from sync_keys`.execute(source.db)
  for (const { name, age } of rows) {
    const ms = sql.lit(Math.max(0, Math.floor(Number(age))))
    await sql`delete from sync_budgets where name = ${name}`.execute(db)
    await sql`insert into sync_keys (name, used_at)
      values (${name}, cast(${databaseNowMs(kind)} as bigint) - ${ms})
      on conflict (name) do update set used_at = excluded.used_at`.execute(db)
  }
}
