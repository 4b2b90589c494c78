/** The console of a worker: its people from the configuration, its audit log in the warehouse. */

import type { Warehouse } from '../src/app/open.ts'
import type { Config } from '../src/config/config.ts'
import { loadRoutes } from '../src/console/console.ts'
import { openConsoleReads } from '../src/console/reads.ts'
import { createConsoleLink } from '../src/console/sign-in-links.ts'
import type { Attempts, HttpRoutes } from '../src/http/http.ts'
import type { Logger } from '../src/log.ts'
import { createAuditLog } from '../src/outbox/sql/audit-log.ts'

/** `config` is asked each time: it can be reloaded. Throws UserError if a token of a person cannot be read. */
export function openWorkerConsole(config: () => Config, { db }: Warehouse, attempts: Attempts, log: Logger) {
  const { httpToken } = config()
  const auditLog = createAuditLog(db)
  requirePeopleTokens(config())
  const reads = openConsoleReads(config(), Date.now)
  const people = () => config().console.people
  const load = async () => {
    const { consolePlugin } = await loadRoutes()
    return consolePlugin({
      ...{ reads, attempts, log, now: Date.now, access: { people, httpToken }, isReadOnly: false },
      // A request does not wait behind the work of the worker.
      store: {
        ...auditLog,
        hasSessionEnded: async (cookie) => createAuditLog((await reads.warehouse()).db).hasSessionEnded(cookie),
      },
      config: () => (config().readOnly ? null : config()),
      projects: async () => config().projects,
    })
  }
  const routes: HttpRoutes = { prefix: '/console', auth: 'own', load }
  /** A one-time link at this address; null: people sign in with tokens. */
  const createLink = async (address: string) =>
    httpToken === null && people().length === 0 ? createConsoleLink(auditLog, address, Date.now()) : null
  return { routes, createLink, close: reads.close }
}

/** One that cannot be read would keep others from signing in. Throws UserError. */
export function requirePeopleTokens({ console: { people } }: Pick<Config, 'console'>): void {
  for (const { token } of people) token.reveal()
}
