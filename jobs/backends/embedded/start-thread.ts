/** Starts the thread of the embedded store. */
import { getCompileCacheDir } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { ThreadOptions } from './messages.ts'

/** `.ts` in a checkout, `.js` in a compiled package. */
const thread = new URL(`./thread${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`, import.meta.url)

/**
 * A thread does not inherit the compile cache. Without it Node.js loads its compiler of TypeScript into the thread of a
 * checkout, which takes 15 MB.
 */
const startScript = `
  const { cache, file } = require('node:worker_threads').workerData
  if (cache) require('node:module').enableCompileCache(cache)
  import(file)`

/** In the thread, `workerData` has the options. */
export function startThread(options: ThreadOptions): Worker {
  const workerData = { cache: getCompileCacheDir(), file: thread.href, options }
  return new Worker(startScript, { eval: true, workerData, name: 'embedded queue' })
}
