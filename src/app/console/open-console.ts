/** Opens what the console reads, when the first page is asked for: an idle worker pays nothing for it. */
import { randomBytes } from 'node:crypto'
import type { EpochMs, Ms } from '../../core/time.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import { type Databases, openShards } from '../../warehouse/shards.ts'
import { type ConsoleData, createConsoleData, type ReadsOf } from './console-data.ts'
import { createWritebackReads, type WritebackReads } from './writeback-data.ts'

export type OpenConsole = {
  readonly data: ConsoleData
  readonly writebacks: WritebackReads
  /** The warehouse apart from all other work. */
  readonly warehouse: () => Promise<Warehouse>
  readonly close: () => Promise<void>
}

export function openConsoleReader(databases: Databases, now: () => EpochMs): OpenConsole {
  // A second reader, so that no page waits behind a count of all rows.
  const [brief, long] = [openOnDemand(databases, 'brief'), openOnDemand(databases, 'long')]
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

function openOnDemand(databases: Databases, apart: 'brief' | 'long') {
  let opened: Promise<Warehouse> | null = null
  return {
    warehouse: (): Promise<Warehouse> => {
      opened ??= openShards(databases, { access: 'read', apart }).catch((error: unknown) => {
        opened = null
        throw error
      })
      return opened
    },
    close: async () => void (await opened?.then((it) => it.close()).catch(() => {})),
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
