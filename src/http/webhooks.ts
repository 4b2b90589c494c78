/** The receiver of webhooks: `POST /webhooks/{project}`. Checks the signature, has the delivery stored, and answers. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Secret } from '../core/secret.ts'
import type { Logger } from '../log.ts'
import type { HttpRoutes } from './server.ts'
import { hasValidSignature } from './signature.ts'

/** `repeated`: the same bytes were here a moment ago. `full`: too many wait already, so that it was not stored. */
export type DeliveryReceipt = 'accepted' | 'repeated' | 'full'

/** By then some of those that wait have been looked after. */
const retryAfterSeconds = 60

export type WebhookReceiver = {
  /** By its name in the configuration, or by its id; undefined: nobody knows it. No secrets: its receiver is off. */
  readonly findProject: (named: string) => { readonly name: string; readonly secrets: readonly Secret[] } | undefined
  /** Stores a delivery of the project with that name; what it leads to is done later. */
  readonly storeDelivery: (project: string, body: Buffer) => Promise<DeliveryReceipt>
  /** `project` null: one that nobody knows. */
  readonly onDelivery: (project: string | null, outcome: DeliveryReceipt | 'rejected') => void
  readonly log: Logger
}

export function webhookRoutes(receiver: WebhookReceiver): HttpRoutes {
  const plugin: FastifyPluginAsync = async (app) => {
    // The signature is over the bytes: whatever the sender calls them, also what is no type at all, nobody reads them before.
    app.removeAllContentTypeParsers()
    app.addHook('onRequest', async ({ raw }) => {
      raw.headers['content-type'] = 'application/octet-stream'
    })
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
    app.post<{ Params: { project: string } }>('/:project', async (request, reply) => {
      const receipt = await receiveDelivery(receiver, request.params.project, request)
      // The same answer whatever was wrong: who asks learns neither which projects there are nor which have a secret.
      if (receipt === null) return reply.code(401).send({ error: 'this is not signed with a secret of this project' })
      if (receipt === 'full') {
        const error = 'too many deliveries of this project wait already; the mirror follows by its schedules'
        return reply.code(503).header('retry-after', retryAfterSeconds).send({ error })
      }
      return reply.code(202).send({ accepted: true })
    })
  }
  return { prefix: '/webhooks', auth: 'own', plugin }
}

async function receiveDelivery(receiver: WebhookReceiver, projectName: string, request: FastifyRequest): Promise<DeliveryReceipt | null> {
  const { log, onDelivery } = receiver
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const signature = request.headers['x-service-signature']
  const project = receiver.findProject(projectName)
  if (!hasValidSignature(body, String(signature), project?.secrets ?? []) || project === undefined) {
    onDelivery(project?.name ?? null, 'rejected')
    log.warn({ event: 'webhook.rejected', project: project?.name ?? null, signed: signature !== undefined })
    return null
  }
  const receipt = await receiver.storeDelivery(project.name, body)
  onDelivery(project.name, receipt)
  // A flood of them is told by its number.
  log[receipt === 'full' ? 'debug' : 'info']({ event: `webhook.${receipt}`, project: project.name, bytes: body.length })
  return receipt
}
