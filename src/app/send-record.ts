/**
 * Notices that the warehouse went back in time, as after a restored backup, or began anew: how
 * often it has sent is also kept outside of it, in Redis if the queue is there, and in a file; and
 * how often any warehouse of its address has sent. Then nothing is sent until a person has said how
 * to go on.
 */
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config, ProjectConfig } from '../config/config.ts'
import { createLog, type Logger } from '../log.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { createSends, readSends } from '../outbox/sql/sending.ts'
import type { ProjectId, ProjectName } from '../values/project.ts'
import { serverDisplayName } from '../values/server-address.ts'
import { errorCode, errorText, projectCommandHint, UserError } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import type { Db } from '../warehouse/connection-pool.ts'
import { isWarehouseUnavailable } from '../warehouse/explain-error.ts'
import { type DatabaseLocation, parseDatabaseUrl } from '../warehouse/location.ts'
import { replaceFile } from '../warehouse/replace-file.ts'
import { sendsFile } from '../warehouse/warehouse-files.ts'
import type { Warehouse } from './open.ts'
import { withOutbox } from './outbox.ts'
import { openRequestBudgets, type RequestBudgets } from './request-budgets.ts'

export type SendRecord = ReturnType<typeof openSendRecord>

export function openSendRecord(
  config: Pick<Config, 'databaseUrl' | 'projects'>,
  project: ProjectConfig,
  {
    warehouse,
    budgets,
    log,
  }: { warehouse: Warehouse; budgets: Pick<RequestBudgets, 'numbers'>; log: Logger },
) {
  const sends = createSends(warehouse.projectDb(project.projectId))
  const location = parseDatabaseUrl(config.databaseUrl)
  const isBeside = location.kind === 'sqlite'
  const place = sendsFile(location)
  const file = place === null ? null : numbersInFile(place.path, place.beside)
  const places = [file, budgets.numbers].filter((place) => place !== null)
  const readOutside = async (key: string) =>
    Math.max(0, ...(await Promise.all(places.map((place) => place.read(key)))))
  const addressKey = `${addressOf(location)}:${project.projectId}`

  /** Why nothing is sent; null: it may be. Recorded in the warehouse when it is first noticed. */
  const findHold = async (): Promise<string | null> => {
    const before = await sends.read()
    const { key } = before
    const unreadable = file?.findProblem() ?? null
    if (unreadable !== null) return before.held?.why === unreadable ? unreadable : hold(unreadable)
    const missing = file !== null && isBeside ? await findMissing(file, key, before.sends) : null
    // Read before the warehouse, which other processes count in first.
    const outside = await readOutside(key)
    const ofAddress = before.isNew ? await readOutside(addressKey) : 0
    const { key: sameKey, sends: counted, held, isNew } = await sends.read()
    if (held !== null) return held.why
    if (sameKey !== key) return null
    if (outside > counted) return hold(`${isOlder} (${counted} sends of ${outside}), ${asRestored}`)
    if (isNew && ofAddress > 0) return hold(`${isEmpty} (${ofAddress} or more), ${asReplaced}`)
    return missing === null ? null : hold(missing)
  }
  const hold = async (why: string): Promise<string> => {
    await sends.hold(why)
    log.error({ event: 'sending.held', project: project.name, why })
    return why
  }
  /** The file is created before the first send, so that later it is known to be missing. */
  const findMissing = async (
    numbers: ReturnType<typeof numbersInFile>,
    key: string,
    counted: number,
  ): Promise<string | null> => {
    if (numbers.exists()) return null
    if (counted > 0)
      return `${numbers.path} is missing, which knows what was sent, ${asRestored} or moved elsewhere`
    await numbers.raise([key], 0)
    return null
  }
  const requireCurrent = async (): Promise<void> => {
    const why = await findHold()
    if (why === null) return
    const hint = projectCommandHint(config.projects, project.name)
    throw new UserError({
      what: `nothing is sent for the project ${project.name}`,
      why,
      next:
        `${hint('writeback list --status queued')} shows what was queued then; ` +
        `${hint('writeback resume --restored')} makes it drafts, and lets others be sent`,
    })
  }
  /** With a check before, and a record after, each send is marked in the warehouse. */
  const guard = <D extends { readonly outbox: Outbox }>(deps: D): D => {
    const { outbox } = deps
    const markSending: Outbox['markSending'] = async (...send) => {
      try {
        await requireCurrent()
      } catch (error) {
        if (isWarehouseUnavailable(error)) return false
        throw error
      }
      const isMarked = await outbox.markSending(...send)
      if (isMarked) await recordSend()
      return isMarked
    }
    const settle: Outbox['settle'] = async (writeback, transition) => {
      const status = await outbox.settle(writeback, transition)
      const found = status === 'conflict' ? await sends.countRepetitions(transition) : 0
      if (found >= repetitionsOfRestored)
        await hold(`${found} replies were in their conversations already, ${asRestored}`)
      return status
    }
    return { ...deps, outbox: { ...outbox, markSending, settle } }
  }
  /** A number that is too small notices less, but a send must not fail because of it. */
  const recordSend = async () => {
    try {
      const { key, sends: count } = await sends.read()
      for (const place of places) await place.raise([key, addressKey], count)
    } catch (error) {
      log.warn({ event: 'send_record.failed', project: project.name, why: errorText(error) })
    }
  }
  return { findHold, requireCurrent, guard }
}

/**
 * After a move the target goes on from the source's count, and a backup of the source that is
 * restored later is noticed.
 */
export async function recordMove(
  databaseUrls: readonly string[],
  outside: RequestBudgets['numbers'],
  target: Db,
  projects: readonly ProjectId[],
): Promise<void> {
  for (const project of projects) {
    const { key, sends } = await readSends({ db: target, project })
    for (const location of databaseUrls.map((url) => parseDatabaseUrl(url))) {
      const place = sendsFile(location)
      const keys = [key, `${addressOf(location)}:${project}`]
      if (place !== null) await numbersInFile(place.path, place.beside).raise(keys, sends)
      await outside?.raise(keys, sends)
    }
  }
}

/** Once it is erased: a project of the same id that is mirrored later begins at 0. */
export async function forgetSends(
  databaseUrl: string,
  outside: RequestBudgets['numbers'],
  context: { readonly db: Db; readonly project: ProjectId },
): Promise<void> {
  const { key } = await readSends(context)
  const location = parseDatabaseUrl(databaseUrl)
  const place = sendsFile(location)
  const keys = [key, `${addressOf(location)}:${context.project}`]
  if (place !== null) numbersInFile(place.path, place.beside).forget(keys)
  await outside?.forget(keys)
}

const isOlder = 'the warehouse is older than the last write-back that was sent'
const asRestored = 'as after a restored backup'
const isEmpty =
  'the warehouse has sent nothing yet, but one at the same address has ' +
  'sent write-backs of this project'
const asReplaced = 'as after its database was dropped, or another file or schema took its place'

/** The same for warehouses that are there one after the other, and for schemas of a database. */
function addressOf(location: DatabaseLocation): string {
  return location.kind === 'sqlite' ? resolve(location.path) : serverDisplayName(location.url)
}

/** A single one may have been typed by a person. */
const repetitionsOfRestored = 2

/** The names of former warehouses are dropped some day. */
const maxNumbers = 1000

/** Numbers that only grow. An unknown one is 0. `beside`: a file or folder whose owner it gets. */
function numbersInFile(path: string, beside: string) {
  const readAll = (): Record<string, number> => {
    try {
      return JSON.parse(readFileSync(path, 'utf8'))
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return {}
      throw error
    }
  }
  return {
    path,
    exists: () => existsSync(path),
    /** What it knows must not be taken for nothing, and then be overwritten. */
    findProblem: (): string | null => {
      try {
        readAll()
        return null
      } catch (error) {
        return (
          `${path}, which knows what was sent, cannot be read (${errorText(error)}): correct ` +
          'or move it first'
        )
      }
    },
    read: async (key: string) => readAll()[key] ?? 0,
    raise: async (keys: readonly string[], to: number) => {
      const before = readAll()
      const raised = keys.map((key) => [key, Math.max(before[key] ?? 0, to)] as const)
      const others = Object.entries(before).filter(([key]) => !keys.includes(key))
      const numbers = [...others.slice(keys.length - maxNumbers), ...raised]
      replaceFile(path, JSON.stringify(Object.fromEntries(numbers)), beside)
    },
    forget: (keys: readonly string[]) => {
      const before = Object.entries(readAll())
      const others = before.filter(([key]) => !keys.includes(key))
      if (others.length < before.length)
        replaceFile(path, JSON.stringify(Object.fromEntries(others)), beside)
    },
  }
}

/** Throws UserError if the warehouse did not go back in time, and its sending is not held. */
export function resumeRestored(
  config: Config,
  project: ProjectConfig,
  { by, queued }: { readonly by: string; readonly queued: 'draft' | 'send' },
): Promise<{ readonly project: ProjectName; readonly drafts: number }> {
  return withOutbox(config, project, async (_, warehouse) => {
    const resume = () => createSends(warehouse.projectDb(project.projectId)).resume(by, queued)
    let resumed = await resume()
    if (resumed === null) {
      // Nothing has tried to send since the restore, so it is noticed only now.
      const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })
      await withOpened(async (use) => {
        const budgets = use(await openRequestBudgets(config.queueUrl, warehouse, log))
        return openSendRecord(config, project, { warehouse, budgets, log }).findHold()
      })
      resumed = await resume()
    }
    if (resumed !== null) return { project: project.name, ...resumed }
    throw new UserError({
      what: 'nothing was changed',
      why:
        `sending is not held for ${project.name}, and the warehouse knows of all that is known ` +
        'to have been sent',
      next: '`deskmirror status` shows its state',
    })
  })
}
