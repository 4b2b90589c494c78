/** Serves the console of one warehouse on this machine. */

import { createAttempts } from '../../http/auth.ts'
import { type HttpServer, openHttpServer } from '../../http/server.ts'
import type { Logger } from '../../log.ts'
import type { EpochMs } from '../../values/time.ts'
import type { openStandAlone } from '../data/open-console.ts'
import { consoleRoutes } from './routes.ts'

type StandAlone = Awaited<ReturnType<typeof openStandAlone>>
type ServeOptions = { readonly port: number; readonly log: Logger; readonly now: () => EpochMs }

/** Nothing is written to the warehouse, so who signed in is in the log only. */
export function serveStandAlone(
  { data, writebacks, projects, links, listAudit }: StandAlone,
  { port, log, now }: ServeOptions,
): Promise<HttpServer> {
  const ended = new Set<string>()
  const routes = consoleRoutes({
    data,
    writebacks,
    decisions: () => null,
    projects,
    access: { people: () => [], httpToken: null },
    // Links, and with them sessions, are of this process only.
    ended: { add: async (cookie) => void ended.add(cookie), has: async (cookie) => ended.has(cookie) },
    attempts: createAttempts(),
    useLink: links.use,
    audit: { append: async () => {}, list: listAudit },
    isReadOnly: true,
    log,
    now,
  })
  const health = { isAlive: () => true, checkReadiness: async () => [] }
  return openHttpServer({ host: '127.0.0.1', port, token: null, health, metrics: null, plugins: [routes], log })
}
