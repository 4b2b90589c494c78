/** API keys: which project each belongs to and what it may do. */
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from './api/problem.ts'

export const scopes = [
  'conversations:read',
  'conversations:write',
  'visitors:read',
  'visitors:write',
  'calls:read',
  'analytics:read',
  'availability:read',
] as const
export type Scope = (typeof scopes)[number]

/** `id` stands for the key in logs and responses; the key itself is never shown. */
export type ApiKey = { readonly id: string; readonly projectId: string; readonly scopes: readonly Scope[] }

/** The valid keys by their secrets. */
export type ApiKeys = Map<string, ApiKey>

/** The API key of a request. `x-api-key` wins over a bearer token. Throws Problem. */
export function authenticate(headers: IncomingHttpHeaders, keys: ApiKeys): ApiKey {
  const secret = firstValue(headers['x-api-key']) ?? bearerToken(headers.authorization)
  if (secret === undefined || secret === '') throw new Problem('api_key_missing', 'Send an API key')
  const key = keys.get(secret)
  if (key === undefined) throw new Problem('api_key_invalid', 'The API key is unknown or revoked')
  return key
}

export function requireProject(key: ApiKey, projectId: string): void {
  if (key.projectId !== projectId.toLowerCase()) {
    throw new Problem('api_key_wrong_project', 'The API key belongs to a different project')
  }
}

export function requireScope(key: ApiKey, scope: Scope): void {
  if (!key.scopes.includes(scope)) throw new Problem('api_key_scope_missing', `The API key lacks the scope ${scope}`)
}

export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
}

function firstValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
