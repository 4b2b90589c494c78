/** The queues in a browser, as routes for the HTTP server. */
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { Routes } from '../src/http/server.ts'
import type { JobQueue } from './backends/schedule.ts'

const prefix = '/queues'

export function boardOf(queues: readonly JobQueue<never>[]): Routes {
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
  const plugin: Routes['plugin'] = async (app) => {
    await app.register(server.registerPlugin())
  }
  return { prefix, guard: 'token', plugin }
}
