/** Opens what the console reads, when the first page is asked for: an idle worker pays nothing for it. */
import { randomBytes } from 'node:crypto'
import { openWarehouse, type Warehouse } from '../../app/open.ts'
import { type DatabaseAddress, withWarehouse } from '../../app/with-resources.ts'
import type { Config } from '../../config/config.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { type ConsoleData, createConsoleData, type ReadsOf } from './console-data.ts'
import { type ConsoleProject, consoleProjectOf, unconfiguredProject } from './console-project.ts'
import { createWritebackReads, type WritebackReads } from './writeback-data.ts'

type OpenConsole = {
  readonly data: ConsoleData
  readonly writebacks: WritebackReads
  /** Apart from all other work. */
  readonly warehouse: () => Promise<Warehouse>
  readonly close: () => Promise<void>
}

export function openConsoleReader(address: DatabaseAddress, now: () => EpochMs): OpenConsole {
  // A second reader, so that no page waits behind a count of all rows.
  const [brief, long] = [openOnDemand(address, 'brief'), openOnDemand(address, 'long')]
  const readsBy =
    ({ warehouse }: typeof brief): ReadsOf =>
    async ({ projectId }) =>
      (await warehouse()).console(projectId)
  return {
    data: createConsoleData(readsBy(brief), readsBy(long), now),
    writebacks: createWritebackReads(brief.warehouse, long.warehouse, now),
    warehouse: brief.warehouse,
    close: async () => {
      await brief.close()
      await long.close()
    },
  }
}

function openOnDemand({ databaseUrl, databaseSetting: setting }: DatabaseAddress, apart: 'brief' | 'long') {
  let opening: Promise<Warehouse> | null = null
  return {
    warehouse: (): Promise<Warehouse> => {
      opening ??= openWarehouse(databaseUrl, { access: 'read', apart, setting }).catch((error: unknown) => {
        opening = null
        throw error
      })
      return opening
    },
    close: async () => (await opening?.catch(() => null))?.close(),
  }
}

const linkValidMs: Ms = 15 * 60_000

/** The code of a one-time link. */
function newLinkCode(): string {
  return randomBytes(18).toString('base64url')
}

/** A link that signs in once, at a console that uses this warehouse. */
export async function createConsoleLink({ auditLog }: Warehouse, address: string, now: EpochMs): Promise<string> {
  const code = newLinkCode()
  await auditLog.storeLink(code, linkValidMs, now)
  return linkOf(address, code)
}

/** `address`: like `http://127.0.0.1:8484`. */
export function linkOf(address: string, code: string): string {
  return `${address}/console/sign-in?code=${code}`
}

/** `answers`: whether a worker answers at `address`, asked from this machine. */
type ConsoleLink = { readonly link: string; readonly address: string; readonly answers: boolean }

export async function createLinkFor(
  config: Config,
  http: NonNullable<Config['http']>,
  now: EpochMs,
): Promise<ConsoleLink> {
  const host = http.host.includes(':') ? `[${http.host}]` : http.host
  const address = `http://${host}:${http.port}`
  const link = await withWarehouse(config, (warehouse) => createConsoleLink(warehouse, address, now))
  return { link, address, answers: await isWorkerAt(address) }
}

const answerMs: Ms = 2000

async function isWorkerAt(address: string): Promise<boolean> {
  try {
    const response = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(answerMs) })
    return 'alive' in Object(await response.json())
  } catch {
    return false
  }
}

/** `config` null: the projects are those that the warehouse has. */
type StandAloneOptions = DatabaseAddress & {
  readonly config: Config | null
  readonly now: () => EpochMs
}

export async function openStandAlone({ config, now, ...address }: StandAloneOptions) {
  const reader: OpenConsole = openConsoleReader(address, now)
  // A warehouse that cannot be read is better said now than on the first page.
  const warehouse = await reader.warehouse()
  const links = createLinks(now)
  const configured = config?.projects.map(consoleProjectOf) ?? []
  const projects = async (): Promise<readonly ConsoleProject[]> => {
    const known = await warehouse.listProjects()
    const others = known.filter(({ id }) => !configured.some(({ projectId }) => projectId === id))
    return [...configured, ...others.map(({ id, timeZone }) => unconfiguredProject(id, timeZone))]
  }
  const { data, writebacks } = reader
  return { data, writebacks, projects, links, listAudit: warehouse.auditLog.list, close: reader.close }
}

/** Codes that are valid once. */
function createLinks(now: () => EpochMs, validForMs: Ms = linkValidMs) {
  const codes = new Map<string, EpochMs>()
  return {
    create: (): string => {
      const code = newLinkCode()
      codes.set(code, now() + validForMs)
      return code
    },
    use: async (code: string): Promise<boolean> => {
      const until = codes.get(code) ?? 0
      codes.delete(code)
      return now() < until
    },
  }
}
