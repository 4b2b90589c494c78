/** Who can reach the worker's HTTP server: this machine only, or others with a token. */
import { isLoopback } from '../core/base-url.ts'
import type { Secret } from '../core/secret.ts'
import type { Config } from './config.ts'
import { ConfigurationError } from './problems.ts'

export type HttpExposure = NonNullable<Config['http']> & { readonly token: Secret | null }

/**
 * The address to listen at; null = HTTP is off. Throws ConfigurationError if other machines can reach the address and
 * there is no token, and UserError if the token cannot be read. Only `start` calls it.
 */
export function resolveHttpExposure({ http, httpToken }: Pick<Config, 'http' | 'httpToken'>): HttpExposure | null {
  if (http === null) return null
  httpToken?.reveal()
  if (httpToken !== null || isLoopback(http.host)) return { ...http, token: httpToken }
  const where = 'DESKMIRROR_HTTP (`http` in deskmirror.yaml)'
  const instead = 'set DESKMIRROR_HTTP_TOKEN, listen on 127.0.0.1, or turn HTTP off'
  throw new ConfigurationError([{ where, why: `is open to other machines without a token: ${instead}` }])
}
