/** Opens both warehouses of a move, and keeps all other processes from using them. */
import { randomInt } from 'node:crypto'
import { statSync } from 'node:fs'
import { runOn, schemaOf } from '../../schema/create-missing.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { MovePlan, MoveSide } from '../maintenance/maintenance.ts'
import { planMove } from '../maintenance/move-projects.ts'
import { listLiveWorkers } from '../maintenance/sql/workers.ts'
import type { ProjectId } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import type { Use } from '../values/with-opened.ts'
import { onConnection } from '../warehouse/connection-pool.ts'
import { type DatabaseLocation, locationLabel, parseDatabaseUrl } from '../warehouse/location.ts'
import { wholeWarehouse } from '../warehouse/moves.ts'
import { resolveLinks } from '../warehouse/warehouse-files.ts'
import { lockAsOnlyWorker } from './only-worker.ts'
import { addressOptions, openWarehouse, type Warehouse } from './open.ts'
import { lockAllStreams, startLockHeartbeat } from './stream-locks.ts'

type Options = {
  readonly to: string
  readonly only: ProjectId | null
  readonly signal: AbortSignal
  readonly log: Logger
}

/**
 * `signal`: also aborted if a lock is taken over. Throws UserError if a warehouse cannot take part.
 */
export async function openMove(use: Use, config: Config, { to, only, signal, log }: Options) {
  const locations = {
    source: parseDatabaseUrl(config.databaseUrl, config.databaseSetting),
    target: parseDatabaseUrl(to, '--to'),
  }
  refuseSameFile(locations.source, locations.target)
  const address = addressOptions(config)
  // A writer would create what is not there.
  await (await openWarehouse(config.databaseUrl, { access: 'read', evenIfMoved: true })).close()
  const source = use(await openWarehouse(config.databaseUrl, { ...address, evenIfMoved: true }))
  const projects = only === null ? undefined : [only]
  const target = use(await openWarehouse(to, { setting: '--to', evenIfMoved: true, projects }))
  await refuseSameSchema(source, target)
  const lost = new AbortController()
  const onLost = (error: Error) => lost.abort(error)
  await lockWorkers(use, config.databaseUrl, source, { log, onLost })
  await lockWorkers(use, to, target, { log, onLost })
  const labels = { source: labelOf(locations.source), target: labelOf(locations.target) }
  const plan = await planMove({ source, target, labels }, only)
  await lockStreams(use, source, plan, onLost)
  const move = { source: await holdSide(use, source), target: await holdSide(use, target), labels }
  return { move, plan, signal: AbortSignal.any([signal, lost.signal]) }
}

/** The target alone: the source can never be opened again. */
export async function openTarget(use: Use, { to, log }: Pick<Options, 'to' | 'log'>) {
  const target = use(await openWarehouse(to, { setting: '--to', evenIfMoved: true }))
  await lockWorkers(use, to, target, { log, onLost: () => {} })
  return { side: await holdSide(use, target), label: labelOf(parseDatabaseUrl(to, '--to')) }
}

/** Where it is for whoever is to name it: a file by its whole path, a schema if it is named. */
function labelOf(location: DatabaseLocation): string {
  if (location.kind === 'sqlite') return `sqlite:${resolveLinks(location.path)}`
  const schema = new URL(location.url).searchParams.get('schema')
  return `${locationLabel(location)}${schema === null ? '' : `?schema=${schema}`}`
}

async function holdSide(use: Use, { kind, pool }: Warehouse): Promise<MoveSide> {
  const connection = await pool.acquire()
  use({ close: () => connection.release(false) })
  return { kind, connection, db: onConnection(kind, connection.run) }
}

function sameWarehouse(): UserError {
  return new UserError({
    what: 'nothing was moved',
    why: '--to names the warehouse itself',
    next: 'name another database',
  })
}

/** Also through links of both kinds. */
function refuseSameFile(source: DatabaseLocation, target: DatabaseLocation): void {
  if (source.kind !== 'sqlite' || target.kind !== 'sqlite') return
  const [one, other] = [source.path, target.path].map((path) => {
    const file = statSync(path, { throwIfNoEntry: false })
    return file === undefined ? resolveLinks(path) : `${file.dev} ${file.ino}`
  })
  if (one === other) throw sameWarehouse()
}

/** A server may have several names, but a lock of one database is seen in no other. */
async function refuseSameSchema(source: Warehouse, target: Warehouse): Promise<void> {
  if (source.kind !== 'postgres' || target.kind !== 'postgres') return
  const lock = randomInt(2 ** 47)
  const isFree = await source.db.transaction().execute(async (trx) => {
    await runOn(trx)(`select pg_advisory_xact_lock(${lock})`)
    const [tried] = await target.query(`select pg_try_advisory_xact_lock(${lock}) as free`)
    return tried?.free === true
  })
  if (!isFree && (await schemaOf(source.query)) === (await schemaOf(target.query)))
    throw sameWarehouse()
}

/** With a queue in Redis, several workers may use it. */
async function lockWorkers(
  use: Use,
  url: string,
  warehouse: Warehouse,
  options: Omit<Parameters<typeof lockAsOnlyWorker>[2], 'what'>,
): Promise<void> {
  const label = locationLabel(parseDatabaseUrl(url))
  const what = 'move it while another process runs'
  use({ close: await lockAsOnlyWorker(url, warehouse, { ...options, what }) })
  const [worker] = await listLiveWorkers(warehouse.db, Date.now())
  if (worker === undefined) return
  throw new UserError({
    what: 'nothing was moved',
    why: `${worker.holder} is a worker of ${label}, or was until two minutes ago`,
    next: 'stop all workers of both warehouses first',
    exitCode: 1,
  })
}

async function lockStreams(
  use: Use,
  source: Warehouse,
  plan: MovePlan,
  onLost: (error: Error) => void,
): Promise<void> {
  for (const [project, step] of plan) {
    if (project === wholeWarehouse || (step !== 'begin' && step !== 'copy')) continue
    const lock = await lockAllStreams(use, source.projectDb(project), {
      what: 'nothing was moved',
      next: 'wait for it to end, and run the same command again',
    })
    // In SQLite nobody else can write while the move lasts.
    const stop = () => onLost(new Error('another process has taken over a lock of the move'))
    if (source.kind === 'postgres') use(startLockHeartbeat(lock, stop))
  }
}
