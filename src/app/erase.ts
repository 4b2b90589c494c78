/** Opens what the erasure of a visitor, or of a whole project, needs. */
import { sourceOf, tables } from '../../schema/tables.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { DescribePlace, ErasedRows, RemainsReport } from '../maintenance/maintenance.ts'
import { searchRemains } from '../maintenance/search-remains.ts'
import { countErased, erase, finishErasure } from '../maintenance/sql/erase.ts'
import {
  countOpenWritebacks,
  countProjectRows,
  eraseProject,
  finishProjectErasure,
  keptWhileConfigured,
  type ProjectErasure,
  readProjectErasure,
} from '../maintenance/sql/erase-project.ts'
import { listMirroredProjects } from '../maintenance/sql/projects.ts'
import { placeOf } from '../maintenance/sql/search-tables.ts'
import { listLiveWorkers } from '../maintenance/sql/workers.ts'
import type { ProjectId, ProjectName } from '../values/project.ts'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import { parseDatabaseUrl } from '../warehouse/location.ts'
import { findMove, movedError, readMoves, wholeWarehouse } from '../warehouse/moves.ts'
import { addressOptions, openWarehouse, type Warehouse, withWarehouse } from './open.ts'
import { openRequestBudgets } from './request-budgets.ts'
import { forgetSends } from './send-record.ts'
import { lockAllStreams, startLockHeartbeat } from './stream-locks.ts'

export type EraseReport = {
  readonly project: ProjectName
  readonly dryRun: boolean
  /** An earlier run has erased the visitor, perhaps not to its end. */
  readonly isRepeated: boolean
  readonly rows: ErasedRows
  /** What was found of the erased values afterwards; null: nothing was erased. */
  readonly search: RemainsReport | null
}

/** Throws UserError: nothing is stored or was erased, or a write-back to them is in flight. */
export function eraseVisitor(
  config: Config,
  { name, projectId, analytics }: ProjectConfig,
  {
    visitor,
    by,
    dryRun,
    transactionWaitMs,
  }: {
    readonly visitor: string
    readonly by: string
    readonly dryRun: boolean
    readonly transactionWaitMs?: Ms | undefined
  },
): Promise<EraseReport> {
  return withWarehouse(config, async (warehouse) => {
    const context = warehouse.projectDb(projectId)
    const erasure = { visitor, calls: analytics.calls }
    if (dryRun)
      return { project: name, dryRun, ...(await countErased(context, erasure)), search: null }
    const erased = await erase(context, erasure, by)
    const location = parseDatabaseUrl(config.databaseUrl)
    const search = await searchRemains(warehouse, location, { ...erased, transactionWaitMs })
    await finishErasure(context, erasure)
    const { rows, isRepeated } = erased
    const elsewhere = [...search.elsewhere, ...(await listMovedCopies(warehouse, projectId))]
    return { project: name, dryRun, isRepeated, rows, search: { ...search, elsewhere } }
  })
}

export type EraseProjectReport = EraseReport & {
  readonly projectId: ProjectId
  /** The next sync reads it anew. */
  readonly isConfigured: boolean
  /** Write-backs by status that had no outcome yet. */
  readonly open: ErasedRows
  /** Running workers, which may have been started with the project. */
  readonly workers: readonly string[]
  /** Rows of the project that are there afterwards, because others stored them meanwhile. */
  readonly left: ErasedRows
}

/** `named`: by its name in the configuration, or by its id at the service. */
export type EraseProjectOptions = Omit<ProjectErasure, 'isConfigured'> & {
  readonly named: string
  readonly dryRun: boolean
  readonly log: Logger
}

/**
 * Throws UserError: nothing is stored and it was not erased before, its write-backs are being sent
 * or its streams read, or it is interrupted.
 */
export function eraseWholeProject(
  config: Config,
  { named, dryRun, log, ...options }: EraseProjectOptions,
): Promise<EraseProjectReport> {
  return withOpened(async (use) => {
    const address = addressOptions(config)
    const warehouse = use(
      await openWarehouse(config.databaseUrl, { ...address, evenIfMoved: true }),
    )
    const isNamed = ({ name, projectId }: ProjectConfig) =>
      name === named || projectId.toLowerCase() === named.toLowerCase()
    const project = config.projects.find(isNamed)
    const isConfigured = project !== undefined
    const projectId = project?.projectId ?? named
    const context = warehouse.projectDb(projectId)
    const rows = await countProjectRows(context, { isConfigured })
    const isRepeated = (await readProjectErasure(context)) !== null
    if (Object.keys(rows).length === 0 && !isRepeated)
      throw await nothingStored(config, warehouse, named)
    const move = findMove(warehouse.moves, projectId)
    if (move?.state === 'arriving') throw movedError(move, config.databaseSetting)
    const open = await countOpenWritebacks(context)
    const workers = (await listLiveWorkers(warehouse.db, Date.now())).map(({ holder }) => holder)
    const report = { project: project?.name ?? named, projectId, isConfigured, open, workers }
    if (dryRun) return { ...report, dryRun, isRepeated, rows, left: {}, search: null }
    const lost = new AbortController()
    const signal = AbortSignal.any([options.signal, lost.signal])
    const lock = await lockAllStreams(use, context, {
      what: 'nothing was erased',
      next: 'wait for it to end, or stop it, and run the same command again',
    })
    const onLost = () => lost.abort(new Error('another process has taken over the lock'))
    use(startLockHeartbeat(lock, onLost))
    const budgets = isConfigured ? null : use(await openRequestBudgets(config.queueUrl, null, log))
    const erased = await eraseProject(context, { ...options, isConfigured, signal }).catch(
      (error: unknown) => {
        throw options.signal.aborted && error === options.signal.reason ? interrupted() : error
      },
    )
    if (budgets !== null) await forgetSends(config.databaseUrl, budgets.numbers, context)
    const location = parseDatabaseUrl(config.databaseUrl)
    const search = await searchRemains(warehouse, location, erased, describeOthers)
    await finishProjectErasure(context)
    const left = await countProjectRows(context, { isConfigured })
    const elsewhere = [
      ...search.elsewhere,
      ...(await listMovedCopies(warehouse, projectId)),
      ...outOfReach(isConfigured),
    ]
    return {
      ...report,
      dryRun,
      isRepeated,
      rows: erased.rows,
      left,
      search: { ...search, elsewhere },
    }
  })
}

/** What the warehouse has is of other projects: rows with this one's id have been counted. */
const describeOthers: DescribePlace = (table, column) => {
  const isOwn = table.name in tables || sourceOf(table.name) !== null
  return isOwn ? { ...placeOf(table, column), ofOthers: 'all' } : placeOf(table, column)
}

/** A move leaves all rows in the warehouse that it ends, and one that was killed left some. */
async function listMovedCopies(
  { db }: Pick<Warehouse, 'db'>,
  project: ProjectId,
): Promise<readonly string[]> {
  const marks = (await readMoves(db)).filter(({ project_id: id }) =>
    [wholeWarehouse, project].includes(id),
  )
  const others = new Set(marks.map(({ other }) => other))
  return [...others].map((other) => `${other}, to or from which it moved, may have it as well`)
}

const outOfReach = (isConfigured: boolean): readonly string[] => [
  'lakes: the next `export --lake` removes its rows from a lake of all projects; remove the ' +
    'folder of a lake of this one',
  "its id in the audit log (project_erased) and in erased_ids; the use of its key, by the key's " +
    'fingerprint',
  ...(isConfigured
    ? [`${keptWhileConfigured.join(' and ')}: kept while it is configured, see the guide`]
    : []),
]

async function nothingStored(config: Config, { db }: Warehouse, named: string): Promise<UserError> {
  const names = config.projects.map(({ name }) => name)
  const known = [...names, ...(await listMirroredProjects(db)).map(({ id }) => id)]
  return new UserError({
    what: 'nothing was erased',
    why: `nothing is stored of a project ${named}`,
    next:
      known.length === 0
        ? 'check which warehouse the configuration names'
        : `name one of these, by its name or its id: ${known.join(', ')}`,
  })
}

function interrupted(): UserError {
  return new UserError({
    what: 'the project is erased in part',
    why: 'it was asked to stop',
    next: 'run the same command again: it continues',
    exitCode: 1,
  })
}
