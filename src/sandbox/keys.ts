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

/** `id` stands for the key in logs and answers; the key itself is shown nowhere. */
export type Key = { readonly id: string; readonly projectId: string; readonly scopes: readonly Scope[] }

export type KeyRing = {
  readonly find: (secret: string) => Key | undefined
  readonly add: (secret: string, key: Key) => void
  /** Works at once, as in the service. */
  readonly revoke: (secret: string) => void
}

export function keyRing(): KeyRing {
  const keys = new Map<string, Key>()
  return {
    find: (secret) => keys.get(secret),
    add: (secret, key) => {
      keys.set(secret, key)
    },
    revoke: (secret) => {
      keys.delete(secret)
    },
  }
}

/** The key that a request carries. `x-api-key` wins over a bearer token. Throws Problem. */
export function keyOf(headers: IncomingHttpHeaders, ring: KeyRing): Key {
  const secret = first(headers['x-api-key']) ?? bearer(headers.authorization)
  if (secret === undefined || secret === '') throw new Problem('api_key_missing', 'Send an API key')
  const key = ring.find(secret)
  if (key === undefined) throw new Problem('api_key_invalid', 'The API key is unknown or revoked')
  return key
}

export function requireProject(key: Key, projectId: string): void {
  if (key.projectId !== projectId.toLowerCase()) {
    throw new Problem('api_key_wrong_project', 'The API key belongs to a different project')
  }
}

export function requireScope(key: Key, scope: Scope): void {
  if (!key.scopes.includes(scope)) throw new Problem('api_key_scope_missing', `The API key lacks the scope ${scope}`)
}

export function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
