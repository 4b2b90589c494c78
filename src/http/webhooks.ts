/** The webhook receiver: `POST /webhooks/{project}`. Verifies the signature, stores the delivery, and responds. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Secret } from '../core/secret.ts'
import type { Logger } from '../log.ts'
import type { HttpRoutes } from './server.ts'
import { hasValidSignature } from './signature.ts'

/** `repeated`: the same bytes arrived shortly before. `full`: too many are pending, so it was not stored. */
export type DeliveryReceipt = 'accepted' | 'repeated' | 'full'

/** By then some of the pending deliveries are processed. */
const retryAfterSeconds = 60

export type WebhookReceiver = {
  /** Finds a project by its name in the configuration, or by its id; undefined if unknown. No secrets: its receiver is off. */
  readonly findProject: (named: string) => { readonly name: string; readonly secrets: readonly Secret[] } | undefined
  /** Stores a delivery of the named project; it is processed later. */
  readonly storeDelivery: (project: string, body: Buffer) => Promise<DeliveryReceipt>
  /** `project` null: unknown. */
  readonly onDelivery: (project: string | null, outcome: DeliveryReceipt | 'rejected') => void
  readonly log: Logger
}

export function webhookRoutes(receiver: WebhookReceiver): HttpRoutes {
  const plugin: FastifyPluginAsync = async (app) => {
    // The signature covers the raw bytes, so no parser may read them first, whatever the content type, even an invalid one.
    app.removeAllContentTypeParsers()
    app.addHook('onRequest', async ({ raw }) => {
      raw.headers['content-type'] = 'application/octet-stream'
    })
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
    app.post<{ Params: { project: string } }>('/:project', async (request, reply) => {
      const receipt = await receiveDelivery(receiver, request.params.project, request)
      // The same response for every reason: the client learns neither which projects exist nor which have a secret.
      if (receipt === null) return reply.code(401).send({ error: 'this is not signed with a secret of this project' })
      if (receipt === 'full') {
        const error = 'too many deliveries of this project are pending; the mirror catches up by its schedules'
        return reply.code(503).header('retry-after', retryAfterSeconds).send({ error })
      }
      return reply.code(202).send({ accepted: true })
    })
  }
  return { prefix: '/webhooks', auth: 'own', plugin }
}

async function receiveDelivery(
  receiver: WebhookReceiver,
  projectName: string,
  request: FastifyRequest,
): Promise<DeliveryReceipt | null> {
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
  // A flood of refused deliveries is counted in the metrics, not logged one by one.
  log[receipt === 'full' ? 'debug' : 'info']({ event: `webhook.${receipt}`, project: project.name, bytes: body.length })
  return receipt
}
