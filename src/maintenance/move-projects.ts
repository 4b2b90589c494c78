/**
 * The steps of a move between two open warehouses. From the first row that is read to the mark, the
 * source is in one transaction beside which nobody can write. Why: `core/move-state.ts`.
 */
import { randomUUID } from 'node:crypto'
import { movedTables } from '../../schema/moved-tables.ts'
import { requestCompaction } from '../mirror/sql/sync-state.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import type { ProjectId } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import { beginStatements } from '../warehouse/connection-pool.ts'
import { isFenced, wholeWarehouse } from '../warehouse/moves.ts'
import { createProjectDb } from '../warehouse/project-db.ts'
import {
  type MoveRefusal,
  type MoveStep,
  moveSteps,
  sourceStateOf,
  targetStateOf,
} from './core/move-state.ts'
import { readProjectErasure } from './sql/erase-project.ts'
import { prepareColumns, releaseUnfit } from './sql/move-columns.ts'
import {
  countMoveAsSend,
  countMovedRows,
  holdSends,
  listSearched,
  type Marks,
  markOf,
  type NewMark,
  type RowsOfProjects,
  readMarks,
  reservePlaces,
  takeOver,
  writeMarks,
} from './sql/move-marks.ts'
import { type MovedRows, type MoveSide, moveRows, suspendTriggers } from './sql/move-rows.ts'

/** `labels`: of both warehouses, without credentials. */
export type OpenMove = {
  readonly source: MoveSide
  readonly target: MoveSide
  readonly labels: { readonly source: string; readonly target: string }
}

type Reader = Pick<MoveSide, 'db' | 'run'>

/** What is to be done for each project; `''`: for the warehouse itself, if all of it moves. */
export type MovePlan = ReadonlyMap<ProjectId, MoveStep>

/** `only` null: the whole warehouse. Throws UserError if it cannot move. */
export async function planMove(
  { source, target, labels }: Pick<OpenMove, 'labels'> & Record<'source' | 'target', Reader>,
  only: ProjectId | null,
): Promise<MovePlan> {
  const [here, there] = [await readMarks(source), await readMarks(target)]
  const [rows, rowsThere] = [await countMovedRows(source), await countMovedRows(target)]
  const projects = only === null ? projectsOf(rows, here) : [only]
  const refuse = (project: ProjectId, why: Refusal) =>
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
    return mark?.state !== 'moved' || mark.moveId === whole?.moveId
  }
  const named = [...rows.keys()].filter((project) => project !== wholeWarehouse)
  return [...named.filter(isHere), wholeWarehouse]
}

/** Projects that moved to other warehouses before: whoever names one must learn so here, too. */
async function readMovedBefore(source: MoveSide, plan: MovePlan) {
  const marks = new Map<ProjectId, NewMark>()
  for (const [id, { state, moveId, other }] of await readMarks(source))
    if (state === 'moved' && !plan.has(id)) marks.set(id, { state, move_id: moveId, other })
  return marks
}

/** Only a warehouse without active projects of its own takes over a whole one. */
function hasOthers(rows: RowsOfProjects, marks: Marks, moving: readonly ProjectId[]): boolean {
  return [...rows.keys()].some(
    (id) => marks.get(id)?.state !== 'moved' && (id === wholeWarehouse || !moving.includes(id)),
  )
}

type Refusal = MoveRefusal | 'no rows' | 'target moved' | 'being erased'
type Names = OpenMove['labels'] & { readonly other: string }

const dropIt = 'end that move by the command that began it, or drop that database'
const refusals: Readonly<Record<Refusal, (names: Names) => readonly [why: string, next: string]>> =
  {
    'already there': ({ target }) => [
      `${target} is in use, for it or for other projects`,
      'name a new database; a single project, by --project, can join others that are not the same',
    ],
    busy: ({ target }) => [`${target} is still receiving another move`, dropIt],
    'moved elsewhere': ({ other }) => [`it has moved to ${other}`, 'move it from there'],
    'not here yet': ({ other }) => [`it is still arriving here from ${other}`, dropIt],
    'being erased': ({ other }) => [
      `its erasure in ${other} has not ended`,
      'end it there with `deskmirror erase --project`',
    ],
    'no rows': () => ['nothing is stored of it here', 'check the name of the project'],
    'target moved': ({ target }) => [
      `${target} has moved away as a whole, or is arriving`,
      'name another database',
    ],
  }

function refuseMove(project: ProjectId, refusal: Refusal, names: Names): UserError {
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
  const moveId = continued && whole !== undefined ? whole.moveId : randomUUID()
  const mark = (state: 'leaving' | 'arriving', other: string) =>
    new Map(beginning.map((project) => [project, { state, move_id: moveId, other }]))
  await durably(source, () => writeMarks(source, mark('leaving', labels.target)))
  await durably(target, () => writeMarks(target, mark('arriving', labels.source)))
}

export type MoveProgress = { readonly table: string; readonly done: number; readonly left: number }
type CopyOptions = {
  readonly signal: AbortSignal
  readonly onProgress: (progress: MoveProgress) => void
}

/** Of all projects. */
export type CopiedTable = MovedRows & { readonly table: string }

/** Copies what the target lacks or has otherwise, then marks the source. Throws `signal.reason`. */
export async function copyProjects(
  { source, target, labels }: OpenMove,
  plan: MovePlan,
  options: CopyOptions,
): Promise<readonly CopiedTable[]> {
  const projects = chosen(plan, 'begin', 'copy')
  if (projects.length === 0) return []
  return durably(source, async () => {
    await lockTables(source)
    await requireIdle(source, projects)
    const rows = await countMovedRows(source)
    const stale = await countMovedRows(target)
    if (plan.has(wholeWarehouse)) requireSame(projectsOf(rows, await readMarks(source)), plan)
    const firstPlace = await durably(target, () => reservePlaces(source, target, projects))
    const onRows = reportProgress(projects, rows, options)
    const copied = new Map<string, CopiedTable>()
    const release: (() => Promise<void>)[] = []
    for (const project of projects) {
      const { columns, unfit } = await durably(target, () =>
        prepareColumns(source, target, project),
      )
      release.push(() => releaseUnfit(target, project, unfit))
      const has = (table: string) => [rows, stale].some((some) => some.get(project)?.has(table))
      for (const [name, spec] of movedTables.filter(([table]) => has(table))) {
        const discovered = columns.get(name) ?? new Map()
        const table = { name, spec, project, discovered, firstPlace }
        const found = await moveRows(source, target, table, { ...options, onRows: onRows(name) })
        const before = copied.get(name)
        const digest = before === undefined ? found.digest : `${before.digest} ${found.digest}`
        copied.set(name, { table: name, rows: found.rows + (before?.rows ?? 0), digest })
      }
    }
    await durably(target, async () => {
      const resume = await suspendTriggers(target, [
        'discovered_fields',
        'facts_state',
        'sync_cursors',
      ])
      for (const releaseNext of release) await releaseNext()
      // Its files still have what was replaced, which may have been erased or hashed meanwhile.
      for (const project of projects.filter((id) => id !== wholeWarehouse && stale.has(id)))
        await requestCompaction(createProjectDb(target.db, target.kind, project))
      await takeOver(source, target, projects, await listSearched(source))
      await resume()
      if (plan.has(wholeWarehouse)) await writeMarks(target, await readMovedBefore(source, plan))
    })
    const marks = await readMarks(source)
    const moved = projects.map((id) => [id, marks.get(id)?.moveId ?? ''] as const)
    await countMoveAsSend(source, projects)
    await writeMarks(
      source,
      new Map(
        moved.map(([id, move_id]) => [id, { state: 'moved', move_id, other: labels.target }]),
      ),
    )
    return [...copied.values()]
  })
}

export async function endMove({ source, target, labels }: OpenMove, plan: MovePlan): Promise<void> {
  const projects = chosen(plan, 'begin', 'copy', 'arrive')
  const marks = await readMarks(source)
  await arrive(
    target,
    projects.map((project) => [project, markOf(marks, project)?.moveId ?? '']),
    labels.source,
  )
}

/**
 * Makes the target active although nobody knows whether the source was marked: a person says that
 * it is lost. It may have sent since, so sending is held until a person has looked.
 */
export async function acceptMove(
  target: MoveSide,
  only: ProjectId | null,
): Promise<readonly ProjectId[]> {
  const marks = [...(await readMarks(target))].filter(([id]) => only === null || id === only)
  const arriving = marks.filter(([, { state }]) => state === 'arriving')
  const [first] = arriving
  if (first === undefined || arriving.some(([, { isVerified }]) => !isVerified))
    throw new UserError({
      what: 'nothing was changed',
      why: first === undefined ? 'nothing is arriving there' : 'not all of it has arrived there',
      next: 'restore a backup of the source, and move that one',
      exitCode: 2,
    })
  const ids = arriving.map(([id]) => id)
  const why = 'its former warehouse was lost while it moved here, and may have sent since'
  await holdSends(target, ids, why)
  await arrive(
    target,
    arriving.map(([id, { moveId }]) => [id, moveId]),
    first[1].other,
  )
  return ids
}

async function arrive(
  target: MoveSide,
  moves: readonly (readonly [project: ProjectId, moveId: string])[],
  other: string,
) {
  const marks = moves.map(([id, move_id]) => [id, { state: 'arrived', move_id, other }] as const)
  await durably(target, () => writeMarks(target, new Map(marks)))
}

/** A transaction that survives a power failure. */
async function durably<T>({ kind, run }: MoveSide, work: () => Promise<T>): Promise<T> {
  if (kind === 'sqlite') await run('pragma synchronous = full')
  await run(beginStatements[kind])
  try {
    if (kind === 'postgres') await run('set local synchronous_commit = on')
    const result = await work()
    await run('commit')
    return result
  } catch (error) {
    await run('rollback').catch(() => {})
    throw error
  }
}

/** SQLite has one writer anyway. Locks of streams and heartbeats of workers go on. */
async function lockTables({ kind, run }: MoveSide): Promise<void> {
  if (kind === 'sqlite') return
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
  { onProgress }: CopyOptions,
) {
  const counts = projects.flatMap((project) => [...(rows.get(project)?.values() ?? [])])
  const total = counts.reduce((sum, count) => sum + count, 0)
  let done = 0
  return (table: string) => (more: number) => {
    done += more
    onProgress({ table, done, left: Math.max(0, total - done) })
  }
}
