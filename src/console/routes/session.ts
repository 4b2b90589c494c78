/**
 * Sessions: a signed cookie, and nothing on the server but those that have ended before their time,
 * which all workers see. The key comes from the secret that the person signed in with, so a changed
 * token, or a person who is removed from the configuration, ends the session.
 */

import { hkdfSync, randomBytes } from 'node:crypto'
import { Signer } from '@fastify/cookie'
import { looksLike, type Viewer } from '../../config/people.ts'
import { isEqualSecret } from '../../http/auth.ts'
import { isSamePerson } from '../../values/person-name.ts'
import type { Secret } from '../../values/secret.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import type { AuditLog } from '../../warehouse/audit-log.ts'

export type ConsolePerson = Viewer & {
  readonly token: Secret
  readonly replyAs?: string | null
}

/**
 * Who may sign in. `people` is asked each time: the configuration can be reloaded. Where there are
 * any, `httpToken` is not enough.
 */
export type ConsoleAccess = {
  readonly people: () => readonly ConsolePerson[]
  readonly httpToken: Secret | null
}

/** `token`: with the token for all of HTTP. `link`: with a one-time link. */
const methods = ['person', 'token', 'link'] as const
type Method = (typeof methods)[number]

export const sessionMs: Ms = 12 * 3_600_000

export type Sessions = ReturnType<typeof createSessions>

/** `ended`: where every worker sees sessions that have ended before their time. */
export function createSessions(
  { people, ...access }: ConsoleAccess,
  ended: Pick<AuditLog, 'endSession' | 'hasSessionEnded'>,
  isReadOnly: boolean,
) {
  const linkKey = randomBytes(32)
  /** Who has the token of HTTP, or a link, may do everything that can be done here. */
  const guest = (name: string): Viewer => ({
    name,
    role: isReadOnly ? 'viewer' : 'approver',
    hidesMessages: false,
  })
  const httpToken = () => (people().length === 0 ? access.httpToken : null)
  const findPerson = (name: string) => people().find((person) => isSamePerson(person.name, name))
  const isHttpToken = (given: string) => {
    const token = httpToken()
    return token !== null && isEqualSecret(given, token.reveal())
  }
  const isTaken = (name: string) => people().some((person) => looksLike(name, person.name))

  /** Who signed in this way, and what signs their cookies. Null: nobody can any more. */
  const identify = (method: Method, name: string) => {
    const person = method === 'person' ? findPerson(name) : undefined
    const token = method === 'token' ? httpToken() : person?.token
    const secret = method === 'link' ? linkKey : token?.reveal()
    if (secret === undefined) return null
    const signer = new Signer(Buffer.from(hkdfSync('sha256', secret, '', `console ${method}`, 32)))
    return { signer, viewer: person === undefined ? guest(name) : toViewer(person) }
  }

  const verify = async (cookie: string, now: EpochMs): Promise<Viewer | null> => {
    const claims = parseClaims(cookie)
    if (claims === null || now >= claims.until) return null
    const { method, name } = claims
    // The name has become that of a person since, and another one would act under it.
    if (method !== 'person' && isTaken(name)) return null
    const known = identify(method, name)
    return known?.signer.unsign(cookie).valid && !(await ended.hasSessionEnded(cookie))
      ? known.viewer
      : null
  }

  return {
    guest,
    /** Whether anyone can sign in without a one-time link. */
    hasTokens: () => access.httpToken !== null || people().length > 0,
    /**
     * Null: the name and the token do not match. With the token of HTTP everybody names themselves.
     */
    checkToken: (
      name: string,
      token: string,
    ): { readonly method: Method; readonly viewer: Viewer } | null => {
      const person = findPerson(name)
      // A token is compared in any case, so that the time does not reveal who is known.
      const isPersons = isEqualSecret(
        token,
        person?.token.reveal() ?? randomBytes(16).toString('hex'),
      )
      if (person !== undefined)
        return isPersons ? { method: 'person', viewer: toViewer(person) } : null
      return isHttpToken(token) ? { method: 'token', viewer: guest(name) } : null
    },
    /** Of a program that sends `Authorization: Bearer`; browsers never send it by themselves. */
    checkBearer: (token: string): Viewer | null => {
      const person = people().find((it) => isEqualSecret(token, it.token.reveal()))
      if (person !== undefined) return toViewer(person)
      return isHttpToken(token) ? guest('token') : null
    },
    /** Whether this is the name of a person, who has a token of their own, or looks like one. */
    isTaken,
    /** The name of the person if it is one; null: it may be anything, such as a token. */
    nameOfPerson: (name: string): string | null => findPerson(name)?.name ?? null,
    /** Whether a token was written where a name belongs. */
    isToken: (text: string): boolean =>
      [access.httpToken, ...people().map(({ token }) => token)].some(
        (token) => token !== null && isEqualSecret(text, token.reveal()),
      ),
    sign: (method: Method, name: string, now: EpochMs): string => {
      const payload = Buffer.from(JSON.stringify([method, name, now + sessionMs])).toString(
        'base64url',
      )
      const known = identify(method, name)
      if (known === null) throw new Error('nobody can sign in this way')
      return known.signer.sign(payload)
    },
    /** Null: it is forged, has ended, or its person may no longer sign in. */
    verify,
    /** A copy of the cookie is then worth nothing, either. */
    end: async (cookie: string, now: EpochMs): Promise<void> => {
      const claims = parseClaims(cookie)
      if (claims !== null && (await verify(cookie, now)) !== null)
        await ended.endSession(cookie, claims.until, now)
    },
  }
}

function toViewer({ name, role, hidesMessages }: ConsolePerson): Viewer {
  return { name, role, hidesMessages }
}

function parseClaims(cookie: string): { method: Method; name: string; until: EpochMs } | null {
  try {
    const claims: unknown = JSON.parse(
      Buffer.from(cookie.split('.')[0] ?? '', 'base64url').toString(),
    )
    const [given, name, until]: unknown[] = Array.isArray(claims) ? claims : []
    const method = methods.find((known) => known === given)
    return method === undefined || typeof name !== 'string' || typeof until !== 'number'
      ? null
      : { method, name, until }
  } catch {
    return null
  }
}
