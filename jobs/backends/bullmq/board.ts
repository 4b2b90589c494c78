/** The queues in a browser, to look at. */
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { Queue } from 'bullmq'
import type { RoutesPlugin } from '../../../src/http/http.ts'

const boardPrefix = '/queues'

/** The page needs no internet access, and tells no other host that it was opened. */
const contentSecurityPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri " +
  "'self'; frame-ancestors 'none'"

export function bullBoardPlugin(queues: readonly Queue[]): RoutesPlugin {
  const server = new FastifyAdapter()
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'deskmirror' } },
  })
  server.setBasePath(boardPrefix)
  return async (app) => {
    app.addHook('onRequest', async ({ method }, reply) => {
      if (method !== 'GET' && method !== 'HEAD')
        return reply.code(405).send({ error: 'the queues can only be looked at' })
    })
    app.addHook('onSend', async (_, reply, payload) => {
      reply.header('content-security-policy', contentSecurityPolicy)
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html')
      return isPage && typeof payload === 'string' ? removeForeignLinks(payload) : payload
    })
    await app.register(server.registerPlugin())
  }
}

/** The page loads fonts from Google, without a setting for it. */
const removeForeignLinks = (html: string): string =>
  html.replace(/<link href="https?:[^>]{0,400}>/g, '')
