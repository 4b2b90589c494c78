/** A one-time link to the console of the running worker: whoever may write to its warehouse may have one. */
import type { Config } from '../../config/config.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import { withWarehouse } from '../with-resources.ts'
import { createConsoleLink } from './open-console.ts'

/** `answers`: whether a worker answers at `address`, asked from this machine. */
type ConsoleLink = { readonly link: string; readonly address: string; readonly answers: boolean }

export async function createLinkFor(
  config: Config,
  http: NonNullable<Config['http']>,
  now: EpochMs,
): Promise<ConsoleLink> {
  const host = http.host.includes(':') ? `[${http.host}]` : http.host
  const address = `http://${host}:${http.port}`
  // Links are in the first database: another one may be away.
  const first = { ...config, projects: [] }
  const link = await withWarehouse(first, (warehouse) => createConsoleLink(warehouse, address, now))
  return { link, address, answers: await isWorkerAt(address) }
}

const answerMs: Ms = 2000

async function isWorkerAt(address: string): Promise<boolean> {
  try {
    const response = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(answerMs) })
    return 'alive' in Object(await response.json())
  } catch {
    return false
  }
}
