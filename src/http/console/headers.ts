/** The headers of every answer: nothing of another site, no script but ours, and compressed. */
import fastifyCompress from '@fastify/compress'
import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

const self = ["'self'"]
const none = ["'none'"]

/** Scripts write text and attributes only, so no text can ever become markup in the browser: Trusted Types enforce it. */
const directives = {
  'default-src': none,
  'script-src': self,
  'style-src': self,
  'img-src': self,
  'connect-src': self,
  'form-action': self,
  'frame-ancestors': none,
  'base-uri': none,
  'require-trusted-types-for': ["'script'"],
  'trusted-types': none,
}

export async function addHeaders(app: FastifyInstance): Promise<void> {
  await app.register(fastifyHelmet, {
    contentSecurityPolicy: { useDefaults: false, directives },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'same-origin' },
    // Only who serves it by https can promise to do so in the future.
    hsts: false,
  })
  await app.register(fastifyCompress, { threshold: 1024, encodings: ['br', 'gzip', 'identity'] })
}
