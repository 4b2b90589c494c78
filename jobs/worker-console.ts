/** The console of a worker: its people from the configuration, its audit log in the warehouse. */

import type { Warehouse } from '../src/app/open.ts'
import type { Config } from '../src/config/config.ts'
import { consoleProjectOf } from '../src/console/data/console-project.ts'
import { createConsoleDecisions } from '../src/console/data/decisions.ts'
import { createConsoleLink, openConsoleReader } from '../src/console/data/open-console.ts'
import type { ConsoleOptions } from '../src/console/routes/console-options.ts'
import type { Attempts } from '../src/http/auth.ts'
import type { HttpRoutes } from '../src/http/server.ts'
import type { Logger } from '../src/log.ts'

type WorkerConsole = {
  readonly routes: HttpRoutes
  /** A one-time link at this address; null: people sign in with tokens. */
  readonly createLink: (address: string) => Promise<string | null>
  readonly close: () => Promise<void>
}

/** `config` is asked each time: it can be reloaded. Throws UserError if a token of a person cannot be read. */
export function openWorkerConsole(
  config: () => Config,
  warehouse: Warehouse,
  attempts: Attempts,
  log: Logger,
): WorkerConsole {
  const { httpToken } = config()
  requirePeopleTokens(config())
  const reader = openConsoleReader(config(), Date.now)
  const people = () => config().console.people
  const decisions = createConsoleDecisions(config, reader.writebacks, Date.now)
  const options: ConsoleOptions = {
    data: reader.data,
    writebacks: reader.writebacks,
    decisions: () => (config().readOnly ? null : decisions),
    projects: async () => config().projects.map(consoleProjectOf),
    access: { people, httpToken },
    ended: {
      add: (cookie, until) => warehouse.auditLog.endSession(cookie, until, Date.now()),
      has: async (cookie) => (await reader.warehouse()).auditLog.hasSessionEnded(cookie),
    },
    attempts,
    useLink: (code) => warehouse.auditLog.useLink(code, Date.now()),
    audit: {
      append: (event) => warehouse.auditLog.append(event, Date.now()),
      list: warehouse.auditLog.list,
    },
    isReadOnly: false,
    log,
    now: Date.now,
  }
  const load = async () => {
    const { consolePlugin } = await import('../src/console/routes/routes.ts')
    return consolePlugin(options)
  }
  const routes: HttpRoutes = { prefix: '/console', auth: 'own', load }
  const createLink = async (address: string) =>
    httpToken === null && people().length === 0 ? createConsoleLink(warehouse, address, Date.now()) : null
  return { routes, createLink, close: reader.close }
}

/** One that cannot be read would keep others from signing in. Throws UserError. */
export function requirePeopleTokens({ console: { people } }: Pick<Config, 'console'>): void {
  for (const { token } of people) token.reveal()
}
