/**
 * The worker's HTTP server: liveness, readiness, metrics, and the routes that other modules add.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyRequest,
  fastify,
} from 'fastify'
import type { Logger } from '../log.ts'
import type { Secret } from '../values/secret.ts'
import { isLoopback } from '../values/server-address.ts'
import type { Ms } from '../values/time.ts'
import { errorCode, errorText, UserError } from '../values/user-error.ts'
import {
  type Attempts,
  createAttempts,
  createTokenHook,
  disabledHook,
  judgeToken,
  localHostHook,
} from './auth.ts'
import { lazyRoutes, serverOptions } from './lazy-routes.ts'
import { rememberResults, withTimeout } from './remember-results.ts'

/** One dependency of the worker. `why` goes to the log only. */
export type ReadinessResult = {
  readonly name: string
  readonly ok: boolean
  readonly why: string | null
}

export type RoutesPlugin = FastifyPluginAsync

/**
 * Routes of another module. `token`: requests need the token, and without a configured token the
 * routes are off. `own`: the routes authenticate requests themselves, and accept any host name.
 */
export type HttpRoutes = { readonly prefix: string; readonly auth: 'token' | 'own' } & (
  | { readonly plugin: RoutesPlugin }
  /** Called at the first request. */
  | { readonly load: () => Promise<RoutesPlugin> }
)

export type HttpServerOptions = {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** What a person can do where it cannot listen there. */
  readonly otherAddress?: string
  /** Null only for a loopback address; see `resolveHttpExposure`. */
  readonly token: Secret | null
  /** Another one, which opens nothing but the metrics. */
  readonly metricsToken?: Secret | null
  /** Shared with routes that compare tokens themselves. */
  readonly attempts?: Attempts
  /** Addresses of proxies whose `X-Forwarded-For` says who sends a request. */
  readonly trustedProxies?: readonly string[]
  readonly health: {
    /** Whether the process runs its maintenance. Answered from memory. */
    readonly isAlive: () => boolean
    readonly checkReadiness: () => Promise<readonly ReadinessResult[]>
    /** Projects of which no write-back is sent; the worker is ready all the same. */
    readonly listHeld?: () => Promise<readonly string[]>
  }
  readonly metrics: { readonly contentType: string; readonly text: () => Promise<string> } | null
  readonly plugins?: readonly HttpRoutes[]
  /** For the head of a request, and for its body unless that comes on. */
  readonly clientTimeoutMs?: Ms
  readonly log: Logger
}

const closeGraceMs: Ms = 2000

/**
 * Throws UserError if it cannot listen at the address. Returns it, like `http://127.0.0.1:8484`;
 * `close` lets open requests finish, for two seconds at most.
 */
export async function openHttpServer(options: HttpServerOptions) {
  const { clientTimeoutMs = 10_000, trustedProxies = [] } = options
  // By default Node checks timeouts only every 30 seconds.
  const http = { connectionsCheckingInterval: 1000, headersTimeout: clientTimeoutMs }
  const app = fastify({ ...serverOptions(trustedProxies), forceCloseConnections: 'idle', http })
  const isFull = limitConnections(app.server, clientTimeoutMs)
  app.addHook('onRequest', async (request, reply) => {
    if (isFull() && request.url !== '/healthz')
      return reply.code(503).send({ error: 'too many requests at once' })
    reply.headers({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
    })
  })
  const configure = (scope: FastifyInstance) => handleErrors(scope, options.log)
  configure(app)
  const {
    token,
    metricsToken = null,
    attempts = createAttempts(),
    host,
    metrics,
    plugins = [],
    log,
  } = options
  const requireToken = (tokens: readonly Secret[]) => createTokenHook(tokens, attempts, log)
  const metricsTokens = [token, metricsToken].filter((known) => known !== null)
  const register = (scope: FastifyInstance, routes: HttpRoutes) => {
    const { prefix } = routes
    const isLoaded = 'plugin' in routes
    const plugin = isLoaded
      ? routes.plugin
      : lazyRoutes(prefix, routes.load, configure, trustedProxies)
    scope.register(plugin, { prefix })
  }
  for (const routes of plugins.filter(({ auth }) => auth === 'own')) register(app, routes)
  if (plugins.some(({ prefix }) => prefix === '/console'))
    app.get('/', (_, reply) => reply.redirect('/console', 303))
  app.register(async (localScope) => {
    if (token === null && isLoopback(host)) localScope.addHook('onRequest', localHostHook)
    const mayReadNames = (request: FastifyRequest) =>
      metricsTokens.length === 0 || judgeToken(request, metricsTokens, attempts).isRight
    addHealth(localScope, options, mayReadNames)
    localScope.register(async (protectedScope) => {
      if (metricsTokens.length > 0) protectedScope.addHook('onRequest', requireToken(metricsTokens))
      if (metrics === null) return
      protectedScope.get('/metrics', async (_, reply) =>
        reply.type(metrics.contentType).send(await metrics.text()),
      )
    })
    localScope.register(async (protectedScope) => {
      protectedScope.addHook('onRequest', token === null ? disabledHook : requireToken([token]))
      for (const routes of plugins.filter(({ auth }) => auth === 'token'))
        register(protectedScope, routes)
    })
  })
  await listen(app, options)
  const address = addressOf(app, host)
  log.info({ event: 'http.opened', address, guarded: token !== null })
  return { address, close: () => close(app) }
}

/**
 * `mayReadNames`: a client without the token of the metrics does not learn which projects exist.
 */
function addHealth(
  app: FastifyInstance,
  { health, log }: HttpServerOptions,
  mayReadNames: (request: FastifyRequest) => boolean,
): void {
  const rememberFor1s = { maxAgeMs: 1000, now: Date.now }
  const readiness = rememberResults({
    ...rememberFor1s,
    read: () => withTimeout(5000, health.checkReadiness()),
  })
  const held = rememberResults({
    ...rememberFor1s,
    read: async () => withTimeout(5000, health.listHeld?.() ?? Promise.resolve([])),
  })
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  app.get('/healthz', (_, reply) => {
    const isAlive = health.isAlive()
    return reply.code(isAlive ? 200 : 503).send({ alive: isAlive })
  })
  let lastMissing = ''
  app.get('/readyz', async (request, reply) => {
    const missing = (
      await readiness
        .get('', null)
        .catch((error: unknown) => [{ name: 'readiness', ok: false, why: errorText(error) }])
    ).filter(({ ok }) => !ok)
    const names = missing.map(({ name }) => name).join()
    // Probes come every few seconds, so only a change is logged.
    if (names !== lastMissing && names === '') log.info({ event: 'http.ready' })
    else if (names !== lastMissing)
      log.warn({
        event: 'http.not_ready',
        missing: missing.map(({ name, why }) => ({ name, why })),
      })
    lastMissing = names
    const heldProjects = await held.get('', null).catch(() => [])
    const isNamed = mayReadNames(request)
    return reply.code(missing.length === 0 ? 200 : 503).send({
      ready: missing.length === 0,
      missing: missing.map(({ name }) => name),
      ...(heldProjects.length === 0
        ? {}
        : { sendingHeld: heldProjects.length, ...(isNamed ? { heldProjects } : {}) }),
    })
  })
}

/** An unauthenticated client learns only the kind of an error; the log has the rest. */
function handleErrors(app: FastifyInstance, log: Logger): void {
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: 'nothing is here' }))
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 500
    if (status < 500) return reply.code(status).send({ error: error.message })
    log.error({ event: 'http.failed', route: request.routeOptions.url, why: error.message })
    return reply.code(status).send({ error: 'internal error; see the log' })
  })
}

const listenErrorText: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there already',
  EACCES: 'this user may not listen there; ports below 1024 need more rights',
  EADDRNOTAVAIL: 'this machine does not have this address',
  ENOTFOUND: 'this host name does not exist',
  EAI_AGAIN: 'this host name could not be resolved',
}

async function listen(
  app: FastifyInstance,
  {
    host,
    port,
    otherAddress:
      next = 'set DESKMIRROR_HTTP (`http` in deskmirror.yaml) to another host:port, or to off',
  }: HttpServerOptions,
): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    const why = listenErrorText[errorCode(error)]
    if (why === undefined) throw error
    throw new UserError({ what: `cannot listen at ${host}:${port}`, why, next }, { cause: error })
  }
}

function addressOf(app: FastifyInstance, host: string): string {
  const bound = app.server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function close(app: FastifyInstance): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), closeGraceMs)
  await app.close()
  clearTimeout(timer)
}

/**
 * The clients are probes, Prometheus, a person, and webhook senders, many of them behind a proxy.
 */
export const maxConnections = 256
/** Beyond these, where all of them are being answered: only liveness is. */
const livenessConnections = 16
/**
 * What a body must bring in each period: few are larger, such as an imported file, which may take
 * longer.
 */
const minProgressBytes = 64 * 1024

/**
 * Returns whether there are too many requests at this moment for any but one about liveness.
 * `timeoutMs`: for a body.
 */
function limitConnections(server: Server, timeoutMs: Ms): () => boolean {
  const all = new Set<Socket>()
  /** Those whose clients have to send something: the longest first. */
  const waiting = new Set<Socket>()
  const moveToEnd = (socket: Socket) => {
    waiting.delete(socket)
    if (all.has(socket)) waiting.add(socket)
  }
  const forget = (socket: Socket) => {
    all.delete(socket)
    waiting.delete(socket)
  }
  server.maxConnections = maxConnections + livenessConnections
  server.on('connection', (socket: Socket) => {
    const [longest] = waiting
    if (all.size >= maxConnections && longest !== undefined) {
      forget(longest)
      longest.destroy()
    }
    all.add(socket)
    waiting.add(socket)
    socket.once('close', () => forget(socket))
  })
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    response.once('close', () => moveToEnd(socket))
    if (!hasBody(request)) return void waiting.delete(socket)
    moveToEnd(socket)
    request.once('end', () => {
      if (!response.writableFinished) waiting.delete(socket)
    })
    watchBody(request, response, timeoutMs, () => moveToEnd(socket))
  })
  return () => all.size - waiting.size > maxConnections
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Ends the connection if the body neither ends nor comes on. Node.js itself knows only a limit for
 * all of it.
 */
function watchBody(
  request: IncomingMessage,
  response: ServerResponse,
  timeoutMs: Ms,
  onProgress: () => void,
): void {
  const { socket } = request
  let received = socket.bytesRead
  const timer = setInterval(() => {
    // What has arrived and is not taken yet is not the client's delay.
    const isMoving = socket.bytesRead - received >= minProgressBytes || request.readableLength > 0
    if (!isMoving || response.writableFinished) return socket.destroy()
    received = socket.bytesRead
    onProgress()
  }, timeoutMs)
  request.once('close', () => clearInterval(timer))
}
