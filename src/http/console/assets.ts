/** The style sheet, the scripts and the icons: below an address that changes with their content, so browsers keep them. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

const folder = fileURLToPath(new URL('../../console/browser/', import.meta.url))

/** Returns the address below the prefix. */
export async function serveAssets(app: FastifyInstance, prefix: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, name)))
  const address = `/assets/${hash.digest('hex').slice(0, 12)}`
  await app.register(fastifyStatic, { root: folder, prefix: address, immutable: true, maxAge: '365d', index: false })
  return prefix + address
}
