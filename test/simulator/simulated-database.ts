/**
 * One SQLite file in memory, with a real connection for each process. Every statement is an item of
 * the schedule, so that processes interleave between any two of them, and a process can die there:
 * its open transaction is rolled back. File and connections serve one schedule after the other,
 * because opening them takes longer than a schedule.
 */

import { copyFileSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createWarehouse, type Warehouse } from '../../src/app/open.ts'
import type { ConnectionPool, DbConnection } from '../../src/warehouse/connection-pool.ts'
import { withExplainedErrors } from '../../src/warehouse/connection-pool.ts'
import { noRetry } from '../../src/warehouse/retry.ts'
import { openSqlitePool } from '../../src/warehouse/sqlite.ts'
import type { Event } from './digest.ts'
import type { Scheduler, SimulatedProcess } from './scheduler.ts'
import { addVirtualFunctions } from './virtual-sql.ts'

export type SimulatedDatabase = ReturnType<typeof createSimulatedDatabase>

type RealPool = { readonly pool: ConnectionPool; readonly run: DbConnection['run'] }

/** What every warehouse has before its first row, and what finding out about columns has left. */
const keptTables = /^(sqlite_|sync_schema|discovered_fields|dim_|facts_state)/

/** `template`: a warehouse whose columns are known, which is copied to `path`. */
export function createSimulatedDatabase(
  template: string,
  path: string,
  addFunctions = addVirtualFunctions,
) {
  /** Connections of processes that have ended, to be used again. */
  const idle: RealPool[] = []
  const inUse = new Map<SimulatedProcess, RealPool>()
  let own = openOwn()

  function openOwn() {
    copyFileSync(template, path)
    const database = new Database(path)
    const tables = database
      .prepare<[], string>(`select name from sqlite_master where type = 'table'`)
      .pluck()
      .all()
    // The tables of a full-text index follow it.
    const emptied = tables.filter((name) => !keptTables.test(name) && !/^search_words_/.test(name))
    return { database, version: schemaVersion(database), emptied }
  }

  async function openReal(): Promise<RealPool> {
    const known = idle.pop()
    if (known !== undefined) return known
    const pool = openSqlitePool(path, { mustExist: true, synchronous: 'normal', addFunctions })
    const { run, release } = await pool.acquire()
    release(false)
    // SQLite would block the one thread; the program's own waiting is part of the schedule.
    await run('pragma busy_timeout = 0', [])
    return { pool, run }
  }

  /** The process has ended or died. */
  async function release(process: SimulatedProcess): Promise<void> {
    const real = inUse.get(process)
    if (real === undefined) return
    inUse.delete(process)
    await real.run('rollback', []).catch(() => {})
    // It belongs to the connection, and the process may have died where it was another.
    await real.run('pragma synchronous = normal', [])
    idle.push(real)
  }

  function empty(): void {
    const { database, emptied } = own
    database.transaction(() => {
      for (const table of emptied) database.exec(`delete from "${table}"`)
    })()
  }

  /** Every row of every table that a schedule may change. */
  function* contents(): Generator<Event> {
    for (const table of own.emptied)
      yield [table, own.database.prepare(`select * from "${table}"`).all()]
  }

  async function close(): Promise<void> {
    for (const { pool } of [...idle, ...inUse.values()]) await pool.close()
    own.database.close()
    idle.length = 0
    inUse.clear()
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
  }

  return {
    /** For whatever watches the database: its statements are no items of the schedule. */
    observing: () => own.database,
    open: async (
      scheduler: Scheduler,
      process: SimulatedProcess,
      retry = noRetry,
    ): Promise<Warehouse> => {
      const real = await openReal()
      inUse.set(process, real)
      const pool = scheduledPool(scheduler, process, real)
      const explained = withExplainedErrors(pool, { kind: 'sqlite', path, setting: '' })
      return createWarehouse(explained, { access: 'read', retry })
    },
    /** A warehouse for the world itself, whose statements take no time. */
    openUnscheduled: async (process: SimulatedProcess): Promise<Warehouse> => {
      const real = await openReal()
      inUse.set(process, real)
      return createWarehouse({ ...real.pool, close: async () => {} }, { access: 'read' })
    },
    release,
    contents,
    empty,
    /** Back to the template, for the next schedule. */
    reset: async (): Promise<void> => {
      await Promise.all([...inUse.keys()].map(release))
      if (schemaVersion(own.database) === own.version) return empty()
      await close()
      own = openOwn()
    },
    close,
  }
}

function schemaVersion(database: Database.Database): unknown {
  return database.pragma('schema_version', { simple: true })
}

/**
 * A process has one connection; whoever in it gets it first is decided by the pool itself, as in
 * production.
 */
function scheduledPool(
  scheduler: Scheduler,
  process: SimulatedProcess,
  real: RealPool,
): ConnectionPool {
  let lastRelease: Promise<void> = Promise.resolve()
  const acquire = async (): Promise<DbConnection> => {
    const previous = lastRelease
    const { promise, resolve } = Promise.withResolvers<void>()
    lastRelease = promise
    await previous
    const run: DbConnection['run'] = async (text, parameters) => {
      const what = scheduler.isTracing ? describeStatement(text) : ''
      await scheduler.wait(process, statementMs(scheduler), what)
      const result = await real.run(text, parameters).catch((error) => {
        scheduler.record(process.name, text, parameters, String(error))
        throw error
      })
      scheduler.record(process.name, text, parameters, result.affectedRows, result.rows)
      if (/^(begin|commit|rollback)/.test(text)) process.isInTransaction = text.startsWith('begin')
      return result
    }
    return { run, release: () => resolve() }
  }
  return { kind: 'sqlite', acquire, close: async () => {} }
}

/** Mostly no time at all, so that the order is what varies; sometimes as long as on a busy disk. */
function statementMs({ random }: Scheduler): number {
  const draw = random()
  return draw < 0.7 ? 0 : draw < 0.98 ? Math.floor(draw * 20) : Math.floor(random() * 400)
}

/** The first words, for the trace. */
function describeStatement(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 90 ? `${line.slice(0, 90)}…` : line
}
