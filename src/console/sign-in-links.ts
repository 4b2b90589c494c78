/** Links that sign in at a console once, for people without a token. */
import { randomBytes } from 'node:crypto'
import { withWarehouse } from '../app/open.ts'
import type { Config } from '../config/config.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { type AuditLog, createAuditLog } from '../warehouse/audit-log.ts'

const validMs: Ms = 15 * 60_000

/** `address`: like `http://127.0.0.1:8484`. */
export async function createConsoleLink(
  { storeLink }: Pick<AuditLog, 'storeLink'>,
  address: string,
  now: EpochMs,
): Promise<string> {
  const code = randomBytes(18).toString('base64url')
  await storeLink(code, validMs, now)
  return `${address}/console/sign-in?code=${code}`
}

export function workerAddress({ host, port }: NonNullable<Config['http']>): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * To the console of a worker. `answers`: whether one answers at `address`, asked from this machine.
 */
export async function createWorkerLink(
  config: Config,
  http: NonNullable<Config['http']>,
  now: EpochMs,
) {
  const address = workerAddress(http)
  const link = await withWarehouse(config, ({ db }) =>
    createConsoleLink(createAuditLog(db), address, now),
  )
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
