/**
 * Notices that the warehouse went back in time, as after a restored backup: how often it has sent is also kept outside of it,
 * in Redis if the queue is there, and in a file. Then nothing is sent until a person has said how to go on.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Config, ProjectConfig } from '../config/config.ts'
import { projectCommandHint } from '../core/command-hint.ts'
import { errorText } from '../core/error-text.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'
import { isWarehouseUnavailable } from '../warehouse/database/explain-error.ts'
import { parseDatabaseUrl } from '../warehouse/database/location.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { WritebackDeps } from '../writeback/deps.ts'
import type { RequestBudgets } from './request-budgets.ts'

/** Numbers that only grow, outside of the warehouse. An unknown one is 0. */
export type OutsideNumbers = {
  readonly read: (key: string) => Promise<number>
  readonly raise: (key: string, to: number) => Promise<void>
}

export type SendRecord = ReturnType<typeof openSendRecord>

export function openSendRecord(
  config: Pick<Config, 'databaseUrl' | 'projects'>,
  project: ProjectConfig,
  { warehouse, budgets, log }: { warehouse: Warehouse; budgets: Pick<RequestBudgets, 'numbers'>; log: Logger },
) {
  const sends = warehouse.sends(project.projectId)
  const path = recordFile(project.databaseUrl ?? config.databaseUrl)
  const places = [
    ...(path === null ? [] : [numbersInFile(path)]),
    ...(budgets.numbers === null ? [] : [budgets.numbers]),
  ]

  /** Why nothing is sent; null: it may be. Recorded in the warehouse when it is first noticed. */
  const findHold = async (): Promise<string | null> => {
    // Read before the warehouse, which other processes count in first.
    const { key } = await sends.read()
    const outside = Math.max(...(await Promise.all(places.map((place) => place.read(key)))))
    const { key: sameKey, sends: counted, held } = await sends.read()
    if (held !== null) return held.why
    if (sameKey !== key || outside <= counted) return null
    const why = `the warehouse is older than the last write-back that was sent (${counted} sends of ${outside}), as after a restored backup`
    await sends.hold(why, Date.now())
    log.error({ event: 'sending.held', project: project.name, why })
    return why
  }
  const requireCurrent = async (): Promise<void> => {
    const why = await findHold()
    if (why === null) return
    const hint = projectCommandHint(config.projects, project.name)
    throw new UserError({
      what: `nothing is sent for the project ${project.name}`,
      why,
      next: `${hint('writeback list --status queued')} shows what was queued then; ${hint('writeback resume --restored')} makes it drafts, and lets others be sent`,
      exitCode: 2,
    })
  }
  /** A number that is too small notices less, but a send must not fail because of it. */
  const recordSend = async () => {
    try {
      const { key, sends: count } = await sends.read()
      await Promise.all(places.map((place) => place.raise(key, count)))
    } catch (error) {
      log.warn({ event: 'send_record.failed', project: project.name, why: errorText(error) })
    }
  }
  return {
    findHold,
    requireCurrent,
    /** With a check before, and a record after, each send is marked in the warehouse. */
    guard: (deps: WritebackDeps): WritebackDeps => {
      const markSending: WritebackDeps['outbox']['markSending'] = async (...send) => {
        const isUnknown = await requireCurrent().catch((error: unknown) => {
          if (!isWarehouseUnavailable(error)) throw error
          return true
        })
        if (isUnknown) return false
        const isMarked = await deps.outbox.markSending(...send)
        if (isMarked) await recordSend()
        return isMarked
      }
      return { ...deps, outbox: { ...deps.outbox, markSending } }
    },
  }
}

/** Next to the SQLite file, else in the working folder. Null: in memory. */
function recordFile(databaseUrl: string): string | null {
  const location = parseDatabaseUrl(databaseUrl)
  if (location.kind === 'postgres') return 'deskmirror-sends'
  return location.path.startsWith(':') ? null : `${location.path}-sends`
}

/** The names of former warehouses are dropped some day. */
const maxNumbers = 1000

function numbersInFile(path: string): OutsideNumbers {
  const readAll = (): Record<string, number> => {
    try {
      return JSON.parse(readFileSync(path, 'utf8'))
    } catch {
      return {}
    }
  }
  return {
    read: async (key) => readAll()[key] ?? 0,
    raise: async (key, to) => {
      const { [key]: before = 0, ...others } = readAll()
      const numbers = [...Object.entries(others).slice(1 - maxNumbers), [key, Math.max(before, to)]]
      const written = `${path}.${process.pid}`
      writeFileSync(written, JSON.stringify(Object.fromEntries(numbers)), { mode: 0o600, flush: true })
      renameSync(written, path)
    },
  }
}
