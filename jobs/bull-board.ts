/** The queues in a browser, as routes for the HTTP server. */
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { HttpRoutes } from '../src/http/server.ts'
import type { JobQueue } from './backends/schedule.ts'

const prefix = '/queues'

/** Everything comes from this server: the page needs no internet access, and tells no other host that it was opened. */
const contentSecurityPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'self'; frame-ancestors 'none'"

export function bullBoardRoutes(queues: readonly JobQueue<never>[]): HttpRoutes {
  const server = new FastifyAdapter()
  createBullBoard({
    // The board knows BullMQ's queues by their default store; it asks for nothing that the other stores do not have.
    queues: queues.map(
      (queue) => new BullMQAdapter(queue as unknown as ConstructorParameters<typeof BullMQAdapter>[0]),
    ),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'deskmirror' } },
  })
  server.setBasePath(prefix)
  const plugin: HttpRoutes['plugin'] = async (app) => {
    app.addHook('onSend', async (_, reply, payload) => {
      reply.header('content-security-policy', contentSecurityPolicy)
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html')
      return isPage && typeof payload === 'string' ? removeForeignLinks(payload) : payload
    })
    await app.register(server.registerPlugin())
  }
  return { prefix, auth: 'token', plugin }
}

/** The page asks Google for its fonts, and has no setting for that. The browser's own fonts do as well. */
function removeForeignLinks(html: string): string {
  return html.replace(/<link href="https?:[^>]{0,400}>/g, '')
}
