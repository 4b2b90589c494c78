/**
 * Serves the console of one warehouse on this machine. Nothing is written to it, so who signed in
 * is in the log only.
 */
import type { DatabaseAddress } from '../app/open.ts'
import type { Config } from '../config/config.ts'
import { createAttempts } from '../http/auth.ts'
import { openHttpServer } from '../http/server.ts'
import type { Logger } from '../log.ts'
import { listMirroredProjects } from '../maintenance/sql/projects.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { type Use, withOpened } from '../values/with-opened.ts'
import { createAuditLog } from '../warehouse/audit-log.ts'
import { configuredProjects, unconfiguredProject } from './project.ts'
import { openConsoleReads } from './reads.ts'
import { consolePlugin } from './routes/routes.ts'
import { createConsoleLink } from './sign-in-links.ts'

/**
 * Until `work` ends, which gets a link that signs in once. `config` null: the projects are those
 * that the warehouse has.
 */
export function serveStandAlone(
  options: DatabaseAddress & {
    readonly config: Config | null
    readonly port: number
    readonly log: Logger
    readonly now: () => EpochMs
  },
  work: (link: string) => Promise<void>,
): Promise<void> {
  return withOpened(async (use) => work(await open(options, use)))
}

async function open(
  { config, port, log, now, ...address }: Parameters<typeof serveStandAlone>[0],
  use: Use,
): Promise<string> {
  const reads = use(openConsoleReads(address, now))
  // A warehouse that cannot be read is better said now than on the first page.
  const warehouse = await reads.warehouse()
  const configured = config === null ? [] : configuredProjects(config)
  const projects = async () => {
    const known = await listMirroredProjects(warehouse.db)
    const others = known.filter(({ id }) => !configured.some(({ projectId }) => projectId === id))
    return [...configured, ...others.map(({ id, timeZone }) => unconfiguredProject(id, timeZone))]
  }
  const store = storeInMemory()
  const plugin = consolePlugin({
    reads,
    projects,
    log,
    now,
    attempts: createAttempts(),
    isReadOnly: true,
    store: { ...store, append: async () => {}, list: createAuditLog(warehouse.db).list },
    config: () => null,
    access: { people: () => [], httpToken: null },
  })
  const http = await openHttpServer({
    host: '127.0.0.1',
    port,
    otherAddress: 'name another port with --port, or 0 for any free one',
    token: null,
    metrics: null,
    log,
    health: { isAlive: () => true, checkReadiness: async () => [] },
    plugins: [{ prefix: '/console', auth: 'own', plugin }],
  })
  use(http)
  return createConsoleLink(store, http.address, now())
}

/** Links, and with them sessions, are of this process only. */
function storeInMemory() {
  const links = new Map<string, EpochMs>()
  const ended = new Set<string>()
  return {
    storeLink: async (code: string, validForMs: Ms, now: EpochMs) =>
      void links.set(code, now + validForMs),
    hasLink: async (code: string, now: EpochMs) => now < (links.get(code) ?? 0),
    useLink: async (code: string, now: EpochMs) => {
      const until = links.get(code) ?? 0
      links.delete(code)
      return now < until
    },
    endSession: async (cookie: string) => void ended.add(cookie),
    hasSessionEnded: async (cookie: string) => ended.has(cookie),
  }
}
