/** Opens what the console reads, when the first page is asked for: an idle worker pays nothing for it. */
import { randomBytes } from 'node:crypto'
import type { EpochMs, Ms } from '../../core/time.ts'
import { type Databases, ownDatabase } from '../../warehouse/databases.ts'
import { openWarehouse, type Warehouse } from '../../warehouse/open.ts'
import { type ConsoleData, createConsoleData, type ReadsOf } from './console-data.ts'
import { createWritebackReads, type WritebackReads } from './writeback-data.ts'

export type OpenConsole = {
  readonly data: ConsoleData
  readonly writebacks: WritebackReads
  /** The first database, apart from all other work. */
  readonly warehouse: () => Promise<Warehouse>
  readonly close: () => Promise<void>
}

export function openConsoleReader(databases: Databases, now: () => EpochMs): OpenConsole {
  // A second reader, so that no page waits behind a count of all rows.
  const [brief, long] = [openOnDemand(databases, 'brief'), openOnDemand(databases, 'long')]
  const readsBy =
    ({ warehouse }: typeof brief): ReadsOf =>
    async ({ projectId }) =>
      (await warehouse(projectId)).console(projectId)
  return {
    data: createConsoleData(readsBy(brief), readsBy(long), now),
    writebacks: createWritebackReads(brief.warehouse, long.warehouse, now),
    warehouse: () => brief.warehouse(null),
    close: async () => {
      await brief.close()
      await long.close()
    },
  }
}

/** Each database by itself: one that is away keeps no other project's pages from being shown. */
function openOnDemand(databases: Databases, apart: 'brief' | 'long') {
  const opened = new Map<string, Promise<Warehouse>>()
  const open = ({ databaseUrl: url, databaseSetting: setting }: Databases): Promise<Warehouse> => {
    const opening = openWarehouse(url, { access: 'read', apart, setting }).catch((error: unknown) => {
      opened.delete(url)
      throw error
    })
    opened.set(url, opening)
    return opening
  }
  return {
    /** The project's database; null: the first one. */
    warehouse: (project: string | null): Promise<Warehouse> => {
      const found = databases.projects.find(({ projectId }) => projectId === project)
      const database = found === undefined ? databases : ownDatabase(databases, found)
      return opened.get(database.databaseUrl) ?? open(database)
    },
    close: async () => {
      for (const warehouse of opened.values()) await warehouse.then((it) => it.close()).catch(() => {})
    },
  }
}

export const linkValidMs: Ms = 15 * 60_000

/** The code of a one-time link. */
export function newLinkCode(): string {
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
