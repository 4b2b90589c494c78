/** The console of one warehouse, without a worker: it only reads, and a link from this process signs in. */
import type { Config } from '../../config/config.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import type { Databases } from '../../warehouse/databases.ts'
import { type ConsoleProject, consoleProjectOf, unconfiguredProject } from './console-project.ts'
import { linkValidMs, newLinkCode, type OpenConsole, openConsoleReader } from './open-console.ts'

/** `config` null: the projects are those that the warehouse has. */
export type StandAloneOptions = Omit<Databases, 'projects'> & {
  readonly config: Config | null
  readonly now: () => EpochMs
}

export async function openStandAlone({ config, now, ...first }: StandAloneOptions) {
  const reader: OpenConsole = openConsoleReader({ ...first, projects: config?.projects ?? [] }, now)
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
