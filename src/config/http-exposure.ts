/** Who can reach the worker's HTTP: this machine only, or others as well, who must know a token. */
import { isLoopback } from '../core/base-url.ts'
import type { Secret } from '../core/secret.ts'
import { ConfigurationError } from './problems.ts'
import type { Config, HttpAddress } from './config.ts'

export type HttpExposure = HttpAddress & { readonly token: Secret | null }

/**
 * Where the worker may listen; null = HTTP is off. Throws ConfigurationError for an address that other machines can
 * reach where there is no token, and UserError for a token that cannot be read. Only `start` asks.
 */
export function resolveHttpExposure({ http, httpToken }: Pick<Config, 'http' | 'httpToken'>): HttpExposure | null {
  if (http === null) return null
  httpToken?.reveal()
  if (httpToken !== null || isLoopback(http.host)) return { ...http, token: httpToken }
  const where = 'DESKMIRROR_HTTP (`http` in deskmirror.yaml)'
  const instead = 'set DESKMIRROR_HTTP_TOKEN, listen on 127.0.0.1, or turn HTTP off'
  throw new ConfigurationError([{ where, why: `lets other machines in, and there is no token: ${instead}` }])
}
