/**
 * What every page comes with: its files, below an address that changes with their content, and its
 * headers.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyCompress from '@fastify/compress'
import fastifyHelmet from '@fastify/helmet'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

const folder = fileURLToPath(new URL('../browser/', import.meta.url))

/** Returns the address below the prefix. */
export async function serveAssets(app: FastifyInstance, prefix: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, name)))
  const address = `/assets/${hash.digest('hex').slice(0, 12)}`
  await app.register(fastifyStatic, {
    root: folder,
    prefix: address,
    immutable: true,
    maxAge: '365d',
    index: false,
  })
  return prefix + address
}

/** The headers of every answer: nothing of another site, no script but ours, and compressed. */
const self = ["'self'"]
const none = ["'none'"]

/**
 * Scripts write text and attributes only, so no text can ever become markup in the browser: Trusted
 * Types enforce it.
 */
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
