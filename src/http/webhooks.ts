/**
 * The webhook receiver: `POST /webhooks/{project}`. A delivery with a valid signature wakes a sync
 * of its project. Nothing else of it is read, so a forged, repeated or late one cannot change what
 * is mirrored.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { ProjectName } from '../values/project.ts'
import type { Secret } from '../values/secret.ts'
import type { Ms } from '../values/time.ts'
import { errorText } from '../values/user-error.ts'
import { logRefusal } from './refusal-log.ts'
import { withTimeout } from './remember-results.ts'
import type { HttpRoutes } from './server.ts'

const retryAfterSeconds = 60

/** The longest message takes some 120 KiB as JSON with every character escaped. */
const maxDeliveryBytes = 256 * 1024

/** A sender does not wait longer for the queue. */
const wakeTimeoutMs: Ms = 5000

type WebhookReceiver = {
  /** Asked each time. No secrets: its receiver is off. */
  readonly projects: () => readonly Pick<ProjectConfig, 'name' | 'projectId' | 'webhookSecrets'>[]
  /** A sync of the named project begins soon. Rejects if the queue does not take its job. */
  readonly wake: (project: ProjectName) => Promise<void>
  /**
   * `project` null: unknown. `rejected`: it has no valid signature. `unavailable`: the queue did not
   * take the job that syncs.
   */
  readonly onDelivery: (
    project: ProjectName | null,
    outcome: 'accepted' | 'rejected' | 'unavailable',
  ) => void
  readonly log: Logger
}

export function webhookRoutes(receiver: WebhookReceiver): HttpRoutes {
  const plugin: FastifyPluginAsync = async (app) => {
    // The signature covers the raw bytes, so no parser may read them first, whatever the content
    // type, even an invalid one.
    app.removeAllContentTypeParsers()
    app.addHook('onRequest', async ({ raw }) => {
      raw.headers['content-type'] = 'application/octet-stream'
    })
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
    const options = { bodyLimit: maxDeliveryBytes }
    app.post<{ Params: { project: string } }>('/:project', options, async (request, reply) => {
      const outcome = await receiveDelivery(receiver, request.params.project, request)
      // The same response for every reason: the client learns neither which projects exist nor
      // which have a secret.
      if (outcome === 'rejected')
        return reply.code(401).send({ error: 'this is not signed with a secret of this project' })
      if (outcome === 'unavailable') {
        const error = 'the queue does not answer; the mirror catches up by its schedules'
        return reply.code(503).header('retry-after', retryAfterSeconds).send({ error })
      }
      return reply.code(202).send({ accepted: true })
    })
  }
  return { prefix: '/webhooks', auth: 'own', plugin }
}

async function receiveDelivery(
  receiver: WebhookReceiver,
  /** By its name in the configuration, or by its id. */
  named: string,
  request: FastifyRequest,
) {
  const { log, onDelivery } = receiver
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const signature = request.headers['x-service-signature']
  const projects = receiver.projects()
  const project =
    projects.find(({ name }) => name === named) ??
    projects.find(({ projectId }) => projectId === named)
  if (
    !hasValidSignature(body, String(signature), project?.webhookSecrets ?? []) ||
    project === undefined
  ) {
    onDelivery(project?.name ?? null, 'rejected')
    const signed = signature !== undefined
    logRefusal(log, { event: 'webhook.rejected', project: project?.name ?? null, signed })
    return 'rejected'
  }
  try {
    await withTimeout(wakeTimeoutMs, receiver.wake(project.name))
  } catch (error) {
    onDelivery(project.name, 'unavailable')
    // The outage of the queue is logged once, not for each delivery.
    log.debug({ event: 'webhook.unavailable', project: project.name, why: errorText(error) })
    return 'unavailable'
  }
  onDelivery(project.name, 'accepted')
  log.info({ event: 'webhook.accepted', project: project.name, bytes: body.length })
  return 'accepted'
}

/** Takes the place of absent secrets: costs the same time, and is unknown to everyone. */
const placeholderKey = randomBytes(32).toString('hex')

/**
 * Every delivery is compared with at least this many keys, so that its time does not reveal how
 * many there are.
 */
const minComparisons = 4

/**
 * Whether a delivery was signed with one of our secrets: HMAC-SHA256 over its bytes, in hexadecimal
 * digits. `signature`: upper case and a `sha256=` prefix are accepted. The time does not reveal
 * what was wrong.
 */
function hasValidSignature(
  body: Buffer,
  signature: string | undefined,
  secrets: readonly Secret[],
): boolean {
  const [, digits] = /^\s*(?:sha256=)?([0-9a-f]{64})\s*$/i.exec(signature ?? '') ?? []
  const given = Buffer.from(digits ?? '0'.repeat(64), 'hex')
  // An empty key would let anyone sign.
  const keys = secrets.map((secret) => secret.reveal()).filter((key) => key !== '')
  const others = Array.from(
    { length: Math.max(0, minComparisons - keys.length) },
    () => placeholderKey,
  )
  const matches = [...keys, ...others].map((key) =>
    timingSafeEqual(createHmac('sha256', key).update(body).digest(), given),
  )
  return matches.includes(true) && digits !== undefined
}
