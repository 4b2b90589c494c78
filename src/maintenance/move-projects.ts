/**
 * The steps of a move between two open warehouses. From the first row that is read to the mark, the
 * source is in one transaction beside which nobody can write. Why: `core/move-state.ts`.
 */
import { randomUUID } from 'node:crypto'
import { runOn } from '../../schema/create-missing.ts'
import { movedTables } from '../../schema/moved-tables.ts'
import { requestCompaction } from '../mirror/sql/sync-state.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import type { ProjectId } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import { isFenced, wholeWarehouse } from '../warehouse/moves.ts'
import { createProjectDb } from '../warehouse/project-db.ts'
import { inDurableTransactionOnce } from '../warehouse/transactions.ts'
import {
  type MoveRefusal,
  type MoveStep,
  moveSteps,
  sourceStateOf,
  targetStateOf,
} from './core/move-state.ts'
import { type ProjectErasure, readProjectErasure } from './sql/erase-project.ts'
import { prepareColumns, releaseUnfit } from './sql/move-columns.ts'
import {
  countMoveAsSend,
  countMovedRows,
  holdSends,
  listSearched,
  type Marks,
  markOf,
  type RowsOfProjects,
  readMarks,
  reservePlaces,
  type StoredMark,
  takeOver,
  writeMarks,
} from './sql/move-marks.ts'
import { type MovedRows, type MoveSide, moveRows, withoutTriggers } from './sql/move-rows.ts'

/** `labels`: of both warehouses, without credentials. */
type OpenMove = {
  readonly source: MoveSide
  readonly target: MoveSide
  readonly labels: { readonly source: string; readonly target: string }
}

/** What is to be done for each project; `''`: for the warehouse itself, if all of it moves. */
export type MovePlan = ReadonlyMap<ProjectId, MoveStep>

/** `only` null: the whole warehouse. Throws UserError if it cannot move. */
export async function planMove(
  {
    source,
    target,
    labels,
  }: Pick<OpenMove, 'labels'> & Record<'source' | 'target', Pick<MoveSide, 'db'>>,
  only: ProjectId | null,
): Promise<MovePlan> {
  const [here, there] = [await readMarks(source), await readMarks(target)]
  const [rows, rowsThere] = [await countMovedRows(source), await countMovedRows(target)]
  const projects = only === null ? projectsOf(rows, here) : [only]
  const refuse = (project: ProjectId, why: keyof typeof refusals) =>
    refuseMove(project, why, { ...labels, other: markOf(here, project)?.other ?? '' })
  const plan = new Map<ProjectId, MoveStep>()
  for (const project of projects) {
    if (only !== null && isFenced(there.get(wholeWarehouse))) throw refuse(project, 'target moved')
    const own = markOf(here, project)
    const isUsed =
      project === wholeWarehouse ? hasOthers(rowsThere, there, projects) : rowsThere.has(project)
    const step = moveSteps[sourceStateOf(own)][targetStateOf(there.get(project), own, isUsed)]
    if (step in refusals) throw refuse(project, step as MoveRefusal)
    for (const [side, other] of Object.entries(labels)) {
      const { db } = side === 'source' ? source : target
      if ((await readProjectErasure({ db, project }))?.isFinished === false)
        throw refuseMove(project, 'being erased', { ...labels, other })
    }
    plan.set(project, step)
  }
  if (only !== null && plan.get(only) === 'begin' && !rows.has(only)) throw refuse(only, 'no rows')
  return plan
}

/** All that have not moved elsewhere before. */
function projectsOf(rows: RowsOfProjects, marks: Marks): readonly ProjectId[] {
  const whole = markOf(marks, wholeWarehouse)
  const isHere = (project: ProjectId) => {
    const mark = marks.get(project)
    return mark?.state !== 'moved' || mark.move_id === whole?.move_id
  }
  const named = [...rows.keys()].filter((project) => project !== wholeWarehouse)
  return [...named.filter(isHere), wholeWarehouse]
}

/** Of projects that moved elsewhere before: whoever names one must learn so there, too. */
async function copyEarlierMarks(source: MoveSide, target: MoveSide, plan: MovePlan) {
  for (const [id, earlier] of await readMarks(source))
    if (earlier.state === 'moved' && !plan.has(id)) await writeMarks(target, [earlier], earlier)
}

/** Only a warehouse without active projects of its own takes over a whole one. */
function hasOthers(rows: RowsOfProjects, marks: Marks, moving: readonly ProjectId[]): boolean {
  return [...rows.keys()].some(
    (id) => marks.get(id)?.state !== 'moved' && (id === wholeWarehouse || !moving.includes(id)),
  )
}

type Names = OpenMove['labels'] & { readonly other: string }

const dropIt = 'end that move by the command that began it, or drop that database'
const refusals = {
  'already there': ({ target }: Names) => [
    `${target} is in use, for it or for other projects`,
    'name a new database; a single project, by --project, can join others that are not the same',
  ],
  busy: ({ target }: Names) => [`${target} is still receiving another move`, dropIt],
  'moved elsewhere': ({ other }: Names) => [`it has moved to ${other}`, 'move it from there'],
  'not here yet': ({ other }: Names) => [`it is still arriving here from ${other}`, dropIt],
  'being erased': ({ other }: Names) => [
    `its erasure in ${other} has not ended`,
    'end it there with `deskmirror erase --project`',
  ],
  'no rows': () => ['nothing is stored of it here', 'check the name of the project'],
  'target moved': ({ target }: Names) => [
    `${target} has moved away as a whole, or is arriving`,
    'name another database',
  ],
} satisfies Readonly<Record<string, (names: Names) => readonly [why: string, next: string]>>

function refuseMove(project: ProjectId, refusal: keyof typeof refusals, names: Names): UserError {
  const [why, next] = refusals[refusal](names)
  const what = project === wholeWarehouse ? 'the warehouse' : `the project ${project}`
  return new UserError({ what: `cannot move ${what} to ${names.target}`, why, next, exitCode: 2 })
}

const chosen = (plan: MovePlan, ...steps: readonly MoveStep[]): readonly ProjectId[] =>
  [...plan].filter(([, step]) => steps.includes(step)).map(([project]) => project)

export async function beginMove(
  { source, target, labels }: OpenMove,
  plan: MovePlan,
): Promise<void> {
  const beginning = chosen(plan, 'begin')
  if (beginning.length === 0) return
  // Another target, which was given up, must not be taken for this one.
  const continued = plan.get(wholeWarehouse) === 'copy'
  const whole = (await readMarks(source)).get(wholeWarehouse)
  const move_id = continued && whole !== undefined ? whole.move_id : randomUUID()
  const moves = beginning.map((project_id) => ({ project_id, move_id }))
  await mark(source, moves, { state: 'leaving', other: labels.target })
  await mark(target, moves, { state: 'arriving', other: labels.source })
}

/** Durable before the next step. */
function mark(
  side: MoveSide,
  moves: readonly Pick<StoredMark, 'project_id' | 'move_id'>[],
  to: Pick<StoredMark, 'state' | 'other'>,
): Promise<void> {
  return inDurableTransactionOnce(side, () => writeMarks(side, moves, to))
}

/** Of all projects. */
export type CopiedTable = MovedRows & { readonly table: string }

/** Copies what the target lacks or has otherwise, then marks the source. Throws `signal.reason`. */
export async function copyProjects(
  { source, target, labels }: OpenMove,
  plan: MovePlan,
  options: Pick<ProjectErasure, 'signal' | 'onProgress'>,
): Promise<readonly CopiedTable[]> {
  const projects = chosen(plan, 'begin', 'copy')
  if (projects.length === 0) return []
  return inDurableTransactionOnce(source, async () => {
    await lockTables(source)
    await requireIdle(source, projects)
    const rows = await countMovedRows(source)
    const stale = await countMovedRows(target)
    if (plan.has(wholeWarehouse)) requireSame(projectsOf(rows, await readMarks(source)), plan)
    const inTarget = <T>(work: () => Promise<T>) => inDurableTransactionOnce(target, work)
    const firstPlace = await inTarget(() => reservePlaces(source, target, projects))
    const onRows = reportProgress(projects, rows, options)
    const copied: CopiedTable[] = []
    const unfit = new Map<ProjectId, Parameters<typeof releaseUnfit>[2]>()
    for (const project of projects) {
      const prepared = await inTarget(() => prepareColumns(source, target, project))
      unfit.set(project, prepared.unfit)
      for (const [name, spec] of movedTables) {
        if (![rows, stale].some((some) => some.get(project)?.has(name))) continue
        const discovered = prepared.columns.get(name) ?? new Map()
        const table = { name, spec, project, discovered, firstPlace }
        const found = await moveRows(source, target, table, { ...options, onRows: onRows(name) })
        copied.push({ table: name, ...found })
      }
    }
    await inTarget(async () => {
      const changed = ['discovered_fields', 'facts_state', 'sync_cursors']
      await withoutTriggers(target, changed, async () => {
        for (const [project, fields] of unfit) await releaseUnfit(target, project, fields)
        // Its files still have what was replaced, which may have been erased or hashed meanwhile.
        for (const project of projects.filter((id) => id !== wholeWarehouse && stale.has(id)))
          await requestCompaction(createProjectDb(target.db, target.kind, project))
        await takeOver(source, target, projects, await listSearched(source))
      })
      if (plan.has(wholeWarehouse)) await copyEarlierMarks(source, target, plan)
    })
    const moves = movesOf(await readMarks(source), projects)
    await countMoveAsSend(source, projects)
    await writeMarks(source, moves, { state: 'moved', other: labels.target })
    return [...Map.groupBy(copied, ({ table }) => table)].map(([table, parts]) => ({
      table,
      rows: parts.reduce((sum, part) => sum + part.rows, 0),
      digest: parts.map(({ digest }) => digest).join(' '),
    }))
  })
}

export async function endMove({ source, target, labels }: OpenMove, plan: MovePlan): Promise<void> {
  const moves = movesOf(await readMarks(source), chosen(plan, 'begin', 'copy', 'arrive'))
  await mark(target, moves, { state: 'arrived', other: labels.source })
}

const movesOf = (marks: Marks, projects: readonly ProjectId[]) =>
  projects.map((project_id) => {
    return { project_id, move_id: markOf(marks, project_id)?.move_id ?? '' }
  })

/**
 * Makes the target active although nobody knows whether the source was marked: a person says that
 * it is lost. It may have sent since, so sending is held until a person has looked.
 */
export async function acceptMove(
  target: MoveSide,
  only: ProjectId | null,
): Promise<readonly ProjectId[]> {
  const arriving = [...(await readMarks(target)).values()].filter(
    ({ project_id, state }) => state === 'arriving' && (only === null || project_id === only),
  )
  const [first] = arriving
  if (first === undefined || arriving.some(({ verified_at }) => verified_at === null))
    throw new UserError({
      what: 'nothing was changed',
      why: first === undefined ? 'nothing is arriving there' : 'not all of it has arrived there',
      next: 'restore a backup of the source, and move that one',
      exitCode: 2,
    })
  const ids = arriving.map(({ project_id }) => project_id)
  const why = 'its former warehouse was lost while it moved here, and may have sent since'
  await holdSends(target, ids, why)
  await mark(target, arriving, { state: 'arrived', other: first.other })
  return ids
}

/** SQLite has one writer anyway. Locks of streams and heartbeats of workers go on. */
async function lockTables({ kind, db }: MoveSide): Promise<void> {
  if (kind === 'sqlite') return
  const run = runOn(db)
  const tables = [...movedTables.map(([name]) => name), 'sync_sends']
  await run(`set local lock_timeout = '30s'`)
  await run('set local statement_timeout = 0')
  await run('set local idle_in_transaction_session_timeout = 0')
  await run(`lock table ${tables.join(', ')} in share row exclusive mode`)
}

/** A new one would be lost in a warehouse that has moved as a whole. */
function requireSame(projects: readonly ProjectId[], plan: MovePlan): void {
  const added = projects.find((project) => !plan.has(project))
  if (added === undefined) return
  throw new UserError({
    what: 'nothing was moved',
    why: `rows of the project ${added} were stored meanwhile`,
    next: 'run the same command again',
    exitCode: 1,
  })
}

/** What a process is about to send, it must be able to settle. */
async function requireIdle({ db, kind }: MoveSide, projects: readonly ProjectId[]) {
  for (const project of projects) {
    const claim = await createOutbox(createProjectDb(db, kind, project)).findLiveClaim(Date.now())
    if (claim === null) continue
    throw new UserError({
      what: 'nothing was moved',
      why: `a process is sending the write-back ${claim.id}, or was until two minutes ago`,
      next: 'wait for it to end, and run the same command again',
      exitCode: 1,
    })
  }
}

function reportProgress(
  projects: readonly ProjectId[],
  rows: RowsOfProjects,
  { onProgress }: Pick<ProjectErasure, 'onProgress'>,
) {
  const counts = projects.flatMap((project) => [...(rows.get(project)?.values() ?? [])])
  const total = counts.reduce((sum, count) => sum + count, 0)
  let done = 0
  return (table: string) => (more: number) => {
    done += more
    onProgress({ table, done, left: Math.max(0, total - done) })
  }
}
