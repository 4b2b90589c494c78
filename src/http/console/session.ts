/**
 * Sessions: a signed cookie, and nothing on the server but those that have ended before their time. The key comes from the
 * secret that the person signed in with, so a changed token, or a person who is removed from the configuration, ends the
 * session.
 */
import { hkdfSync, randomBytes } from 'node:crypto'
import { Signer } from '@fastify/cookie'
import type { Role, Viewer } from '../../core/console/roles.ts'
import type { Secret } from '../../core/secret.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import { isEqualSecret } from '../auth.ts'

export type ConsolePerson = Viewer & { readonly token: Secret }

/** Who may sign in. `people` is asked each time: the configuration can be reloaded. */
export type ConsoleAccess = {
  readonly people: () => readonly ConsolePerson[]
  readonly httpToken: Secret | null
}

/** `token`: with the token for all of HTTP. `link`: with a one-time link. */
type Method = 'person' | 'token' | 'link'

export const sessionMs: Ms = 12 * 3_600_000

export type Sessions = ReturnType<typeof createSessions>

export function createSessions({ people, httpToken }: ConsoleAccess) {
  const linkKey = randomBytes(32)
  /** Cookies of those who signed out, and until when they would have been valid. */
  const ended = new Map<string, EpochMs>()
  const findPerson = (name: string) => people().find((person) => foldName(person.name) === foldName(name))

  /** Null: nobody can have signed in this way any more. */
  const secretOf = (method: Method, name: string): string | Buffer | null => {
    if (method === 'link') return linkKey
    if (method === 'token') return httpToken?.reveal() ?? null
    return findPerson(name)?.token.reveal() ?? null
  }
  const viewerOf = (method: Method, name: string): Viewer | null => {
    if (method !== 'person') return { name, role: 'approver', hidesMessages: false }
    const person = findPerson(name)
    return person === undefined ? null : { name: person.name, role: person.role, hidesMessages: person.hidesMessages }
  }
  const signerFor = (method: Method, name: string): Signer | null => {
    const secret = secretOf(method, name)
    return secret === null ? null : new Signer(Buffer.from(hkdfSync('sha256', secret, '', `console ${method}`, 32)))
  }

  const verify = (cookie: string, now: EpochMs): Viewer | null => {
    const claims = parseClaims(cookie)
    if (claims === null || now >= claims.until || ended.has(cookie)) return null
    const { method, name } = claims
    // The name has become that of a person since, and another one would act under it.
    if (method !== 'person' && findPerson(name) !== undefined) return null
    const { valid } = signerFor(method, name)?.unsign(cookie) ?? { valid: false }
    return valid ? viewerOf(method, name) : null
  }

  return {
    /** Whether anyone can sign in without a one-time link. */
    hasTokens: () => httpToken !== null || people().length > 0,
    /** Null: the name and the token do not fit. With the token of HTTP everybody names themselves. */
    checkToken: (name: string, token: string): { readonly method: Method; readonly viewer: Viewer } | null => {
      const person = findPerson(name)
      // A token is compared in any case, so that the time does not reveal who is known.
      const isPersons = isEqualSecret(token, person?.token.reveal() ?? randomBytes(16).toString('hex'))
      if (person !== undefined) return isPersons ? { method: 'person', viewer: person } : null
      const isHttpToken = httpToken !== null && isEqualSecret(token, httpToken.reveal())
      return isHttpToken ? { method: 'token', viewer: approver(name) } : null
    },
    /** Of a program that sends `Authorization: Bearer`; browsers never send it by themselves. */
    checkBearer: (token: string): Viewer | null => {
      const person = people().find((it) => isEqualSecret(token, it.token.reveal()))
      if (person !== undefined) return person
      return httpToken !== null && isEqualSecret(token, httpToken.reveal()) ? approver('token') : null
    },
    /** Whether this is the name of a person, who has a token of their own. */
    isTaken: (name: string) => findPerson(name) !== undefined,
    sign: (method: Method, name: string, now: EpochMs): string => {
      const payload = Buffer.from(JSON.stringify([method, name, now + sessionMs])).toString('base64url')
      const signer = signerFor(method, name)
      if (signer === null) throw new Error('nobody can sign in this way')
      return signer.sign(payload)
    },
    /** Null: it is forged, has ended, or its person may no longer sign in. */
    verify,
    /** A copy of the cookie is then worth nothing, either. */
    end: (cookie: string, now: EpochMs): void => {
      for (const [other, until] of ended) if (until <= now) ended.delete(other)
      const claims = parseClaims(cookie)
      if (claims !== null && verify(cookie, now) !== null) ended.set(cookie, claims.until)
    },
  }
}

/** Nobody may sign in by a name that looks like a person's, in other letters or letters of another width. */
function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

function approver(name: string): Viewer & { readonly role: Role } {
  return { name, role: 'approver', hidesMessages: false }
}

const methods: readonly unknown[] = ['person', 'token', 'link'] satisfies Method[]

function parseClaims(cookie: string): { method: Method; name: string; until: EpochMs } | null {
  try {
    const claims: unknown = JSON.parse(Buffer.from(cookie.split('.')[0] ?? '', 'base64url').toString())
    if (!Array.isArray(claims)) return null
    const [method, name, until]: unknown[] = claims
    if (!methods.includes(method) || typeof name !== 'string' || typeof until !== 'number') return null
    return { method: method as Method, name, until }
  } catch {
    return null
  }
}
