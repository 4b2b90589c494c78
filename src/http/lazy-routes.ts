/**
 * Routes whose modules are loaded at the first request for them: most workers are never opened in a
 * browser.
 */
import { type FastifyInstance, type FastifyPluginAsync, fastify } from 'fastify'

/**
 * `load`: the routes below `prefix`. `configure`: what the server of these routes needs besides.
 * Hooks of the surrounding scope run first, and what they set in the reply stays.
 */
export function lazyRoutes(
  prefix: string,
  load: () => Promise<FastifyPluginAsync>,
  configure: (app: FastifyInstance) => void,
  trustedProxies: readonly string[],
): FastifyPluginAsync {
  let opening: Promise<FastifyInstance> | undefined
  const open = async () => {
    const inner = fastify(serverOptions(trustedProxies))
    configure(inner)
    inner.register(await load(), { prefix })
    await inner.ready()
    return inner
  }
  return async (app) => {
    // A hook and not a handler: a handler would be called after the body was read, which the inner
    // server does.
    app.addHook('onRequest', async (request, reply) => {
      opening ??= open()
      // What could not be loaded may be there at the next request.
      opening.catch(() => {
        opening = undefined
      })
      const inner = await opening
      reply.hijack()
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value)
      inner.routing(request.raw, reply.raw)
    })
    for (const url of ['', '/*']) app.route({ method: methods, url, handler: () => {} })
    app.addHook('preClose', async () => (await opening?.catch(() => undefined))?.close())
  }
}

/** No route has a schema, and without these Fastify loads a hundred files that compile schemas. */
const noSchemas = () => {
  throw new Error('routes have no schemas')
}

/** Of any server. The outer one listens, so it decides about connections and times. */
export function serverOptions(trustedProxies: readonly string[]) {
  return {
    bodyLimit: 64 * 1024,
    // A name that SQL gave to a batch, percent-encoded. Node.js bounds the whole head.
    routerOptions: { maxParamLength: 9000 },
    schemaController: {
      compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas },
    },
    // Who sends a request, by `X-Forwarded-For`.
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
  }
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
