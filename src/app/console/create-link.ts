/** A one-time link to the console of the running worker: whoever may write to its warehouse may have one. */
import type { Config } from '../../config/config.ts'
import type { EpochMs } from '../../core/time.ts'
import { withWarehouse } from '../with-resources.ts'
import { createConsoleLink } from './open-console.ts'

export function createLinkFor(config: Config, http: NonNullable<Config['http']>, now: EpochMs): Promise<string> {
  const host = http.host.includes(':') ? `[${http.host}]` : http.host
  return withWarehouse(config, (warehouse) => createConsoleLink(warehouse, `http://${host}:${http.port}`, now))
}
