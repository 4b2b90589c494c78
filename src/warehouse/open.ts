/** Opens the warehouse that a URL names, brings its schema up to date, and says clearly what is wrong where it cannot. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { sql } from 'kysely'
import type { BudgetCell } from '../core/budget/cell.ts'
import type { KeyUse } from '../core/budget/key-use.ts'
import type { Rate } from '../core/budget/rate.ts'
import type { Mirror } from '../core/mirror.ts'
import type { QueueDesk } from '../core/outbox/desk.ts'
import type { Outbox } from '../core/outbox/outbox.ts'
import type { GapReport, StatusReport } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import { UserError } from '../core/user-error.ts'
import { createBudgets } from './budget-cell.ts'
import { type Migrated, migrate, requireSchema } from './database/migrate.ts'
import { type Place, parseDatabaseUrl } from './database/place.ts'
import { postgresSessions } from './database/postgres.ts'
import { type Db, openKysely, type Sessions } from './database/session.ts'
import { sqliteSessions } from './database/sqlite.ts'
import { renewStatistics } from './database/statistics.ts'
import { laterTrouble, openTrouble, WarehouseError } from './database/trouble.ts'
import { UnusedWarehouse } from './database/unused.ts'
import { type Deliveries, deliveriesOf } from './deliveries.ts'
import { type FailureLog, failureLogOf } from './failures.ts'
import { type Fleet, fleetOf } from './fleet.ts'
import { type Lock, takeLock } from './mirror/lock.ts'
import { createMirror, type MirrorOptions, type Reader } from './mirror/mirror.ts'
import { queueDeskOf } from './outbox/desk.ts'
import { outboxOf } from './outbox/outbox.ts'
import { noteRequests, type RequestNote } from './requests.ts'
import { readGaps, readStatus } from './status.ts'

export type Warehouse = {
  readonly kind: Sessions['kind']
  /** What opening it did to its schema. */
  readonly migrated: Migrated | null
  readonly mirror: (project: string, options?: MirrorOptions) => Mirror & Reader
  /** The project's queue of write-backs, as whoever carries it out sees it, and as people use it. */
  readonly outbox: (project: string) => Outbox
  readonly queueDesk: (project: string) => QueueDesk
  /** Takes streams of the project for this process, and closes the runs that dead ones left. `now`: milliseconds since 1970. */
  readonly lock: (project: string, streams: readonly string[], now: number) => Promise<Lock>
  readonly status: (project: string, now: number, rate: Rate, selected?: readonly StreamName[]) => Promise<StatusReport>
  /** What is known to be missing of the project. */
  readonly gaps: (project: string) => Promise<readonly GapReport[]>
  /** The request budget of that name, shared by all processes that have this warehouse open, for reading or for writing. */
  readonly budgetCell: (name: string) => BudgetCell
  /** When the key of that budget was used, wherever the budget is kept. */
  readonly keyUse: (name: string) => KeyUse
  /** What workers tell each other. */
  readonly fleet: Fleet
  /** What fails in the workers. */
  readonly failures: FailureLog
  /** Notes how many requests a use of the service has sent that is no run. */
  readonly noteRequests: (note: RequestNote, requests: number, now: number) => Promise<void>
  /** What webhooks brought. */
  readonly deliveries: Deliveries
  /** Counts the rows of all tables anew, for whoever asks questions. */
  readonly renewStatistics: () => Promise<void>
  /** One statement of SQL for a person to see; rows as they come. */
  readonly query: (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>
  readonly close: () => Promise<void>
}

export type OpenOptions = {
  /** `read`: changes nothing, and refuses a database that has not been mirrored into. */
  readonly use?: 'write' | 'read'
  /** SQLite only. */
  readonly synchronous?: 'normal' | 'full'
}

/** `sqlite:PATH` or `postgres://…`. Throws UserError. */
export async function openWarehouse(url: string, options: OpenOptions = {}): Promise<Warehouse> {
  const place = parseDatabaseUrl(url)
  const write = options.use !== 'read'
  if (!write && place.kind === 'sqlite' && existsSync(dirname(resolve(place.path))) && !existsSync(place.path)) {
    throw new UnusedWarehouse()
  }
  try {
    const sessions =
      place.kind === 'sqlite'
        ? sqliteSessions(place.path, { mustExist: !write, synchronous: options.synchronous ?? 'normal' })
        : await postgresSessions(place.url, write)
    return await warehouseOver(explained(sessions, place), write)
  } catch (error) {
    throw error instanceof UserError && !(error instanceof WarehouseError) ? error : openTrouble(place, error)
  }
}

/** What goes wrong with the database itself is told to a person; the rest is a bug of ours, and thrown as it is. */
function explained(sessions: Sessions, place: Place): Sessions {
  const explain = (error: unknown): never => {
    throw laterTrouble(place, error) ?? error
  }
  return {
    ...sessions,
    apart: () => explained(sessions.apart(), place),
    take: async () => {
      const session = await sessions.take().catch(explain)
      return { ...session, run: (text, parameters) => session.run(text, parameters).catch(explain) }
    },
  }
}

/** Over connections that are open already; they are closed where that fails. */
export async function warehouseOver(sessions: Sessions, write = true): Promise<Warehouse> {
  const db = openKysely(sessions)
  try {
    const migrated = write ? await migrate(db, sessions.kind) : await requireSchema(db, sessions.kind).then(() => null)
    return assemble(db, sessions, migrated)
  } catch (error) {
    await db.destroy()
    throw error
  }
}

function assemble(db: Db, sessions: Sessions, migrated: Migrated | null): Warehouse {
  const budgets = createBudgets(sessions)
  return {
    kind: sessions.kind,
    migrated,
    mirror: (project, options = {}) => createMirror(db, sessions, project, options),
    outbox: (project) => outboxOf({ db, kind: sessions.kind, project, clock: Date.now }),
    queueDesk: (project) => queueDeskOf({ db, kind: sessions.kind, project, clock: Date.now }),
    lock: (project, streams, now) => takeLock(db, sessions.kind, project, streams, now),
    status: (project, now, rate, selected) => readStatus(db, project, now, rate, selected),
    gaps: (project) => readGaps(db, project),
    budgetCell: budgets.cell,
    keyUse: budgets.use,
    fleet: fleetOf(db),
    failures: failureLogOf(db),
    noteRequests: (note, requests, now) => noteRequests(db, note, requests, now),
    deliveries: deliveriesOf(db, sessions.kind),
    renewStatistics: () => renewStatistics(db, sessions.kind),
    query: async (text) => (await sql.raw<Record<string, unknown>>(text).execute(db)).rows,
    close: async () => {
      await budgets.close()
      await db.destroy()
    },
  }
}
