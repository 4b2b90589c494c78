/**
 * Sessions: a signed cookie, and nothing on the server but those that have ended before their time, which all workers see.
 * The key comes from the secret that the person signed in with, so a changed token, or a person who is removed from the
 * configuration, ends the session.
 */
import { hkdfSync, randomBytes } from 'node:crypto'
import { Signer } from '@fastify/cookie'
import type { Role, Viewer } from '../../config/roles.ts'
import { isEqualSecret } from '../../http/auth.ts'
import type { Secret } from '../../values/secret.ts'
import type { EpochMs, Ms } from '../../values/time.ts'

export type ConsolePerson = Viewer & { readonly token: Secret }

/** Who may sign in. `people` is asked each time: the configuration can be reloaded. Where there are any, `httpToken` is not enough. */
export type ConsoleAccess = {
  readonly people: () => readonly ConsolePerson[]
  readonly httpToken: Secret | null
}

/** Sessions that have ended before their time, where every worker sees them. */
export type EndedSessions = {
  readonly add: (cookie: string, until: EpochMs) => Promise<void>
  readonly has: (cookie: string) => Promise<boolean>
}

/** `token`: with the token for all of HTTP. `link`: with a one-time link. */
type Method = 'person' | 'token' | 'link'

export const sessionMs: Ms = 12 * 3_600_000

export type Sessions = ReturnType<typeof createSessions>

export function createSessions({ people, ...access }: ConsoleAccess, ended: EndedSessions) {
  const linkKey = randomBytes(32)
  const httpToken = () => (people().length === 0 ? access.httpToken : null)
  const findPerson = (name: string) => people().find((person) => foldName(person.name) === foldName(name))

  /** Null: nobody can have signed in this way any more. */
  const secretOf = (method: Method, name: string): string | Buffer | null => {
    if (method === 'link') return linkKey
    if (method === 'token') return httpToken()?.reveal() ?? null
    return findPerson(name)?.token.reveal() ?? null
  }
  const viewerOf = (method: Method, name: string): Viewer | null => {
    if (method !== 'person') return { name, role: 'approver', hidesMessages: false }
    const person = findPerson(name)
    return person === undefined ? null : { name: person.name, role: person.role, hidesMessages: person.hidesMessages }
  }
  const isHttpToken = (given: string) => {
    const token = httpToken()
    return token !== null && isEqualSecret(given, token.reveal())
  }
  const isTaken = (name: string) => people().some((person) => looksLike(name, person.name))
  const signerFor = (method: Method, name: string): Signer | null => {
    const secret = secretOf(method, name)
    return secret === null ? null : new Signer(Buffer.from(hkdfSync('sha256', secret, '', `console ${method}`, 32)))
  }

  const verify = async (cookie: string, now: EpochMs): Promise<Viewer | null> => {
    const claims = parseClaims(cookie)
    if (claims === null || now >= claims.until) return null
    const { method, name } = claims
    // The name has become that of a person since, and another one would act under it.
    if (method !== 'person' && isTaken(name)) return null
    const { valid } = signerFor(method, name)?.unsign(cookie) ?? { valid: false }
    return valid && !(await ended.has(cookie)) ? viewerOf(method, name) : null
  }

  return {
    /** Whether anyone can sign in without a one-time link. */
    hasTokens: () => access.httpToken !== null || people().length > 0,
    /** Null: the name and the token do not fit. With the token of HTTP everybody names themselves. */
    checkToken: (name: string, token: string): { readonly method: Method; readonly viewer: Viewer } | null => {
      const person = findPerson(name)
      // A token is compared in any case, so that the time does not reveal who is known.
      const isPersons = isEqualSecret(token, person?.token.reveal() ?? randomBytes(16).toString('hex'))
      if (person !== undefined) return isPersons ? { method: 'person', viewer: person } : null
      return isHttpToken(token) ? { method: 'token', viewer: approver(name) } : null
    },
    /** Of a program that sends `Authorization: Bearer`; browsers never send it by themselves. */
    checkBearer: (token: string): Viewer | null => {
      const person = people().find((it) => isEqualSecret(token, it.token.reveal()))
      if (person !== undefined) return person
      return isHttpToken(token) ? approver('token') : null
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
      const payload = Buffer.from(JSON.stringify([method, name, now + sessionMs])).toString('base64url')
      const signer = signerFor(method, name)
      if (signer === null) throw new Error('nobody can sign in this way')
      return signer.sign(payload)
    },
    /** Null: it is forged, has ended, or its person may no longer sign in. */
    verify,
    /** A copy of the cookie is then worth nothing, either. */
    end: async (cookie: string, now: EpochMs): Promise<void> => {
      const claims = parseClaims(cookie)
      if (claims !== null && (await verify(cookie, now)) !== null) await ended.add(cookie, claims.until)
    },
  }
}

/** A person may write their name in letters of another case or width. */
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

/** Letters of other scripts beside those of Latin that look the same, as Unicode's list of confusable characters has them. */
const pairs =
  'аa бb вb гr дa еe зe иu іi їi јj кk ӏl мm нh оo пn рp сc тt уy фo хx чy шw ьb эe ԁd һh ѕs ԛq ԝw яr αa βb γy εe ηn ιi κk μu νv οo ρp σo τt υu χx ωw ԍg ոn օo սu հh ıi ɑa ɡg øo đd łl ħh ŧt ßb æa œo'
const latinOf = new Map(pairs.split(' ').map(([letter = '', latin = '']) => [letter, latin]))

/**
 * A name with letters that no person's name has and this list does not know may look like anything, so beside people it is
 * refused as well.
 */
function looksLike(name: string, person: string): boolean {
  const [shown, other] = [skeleton(name), skeleton(person)]
  return shown === other || shown === '' || /[^\x20-\x7e]/.test(shown)
}

/** What is left of a name when marks, what has no width, spaces and signs are gone, and what looks alike is the same. */
function skeleton(name: string): string {
  const letters = name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}\p{Z}\p{C}\p{P}]/gu, '')
    .toLowerCase()
  const latin = Array.from(letters, (letter) => latinOf.get(letter) ?? letter).join('')
  return latin.replaceAll('rn', 'm').replaceAll('vv', 'w').replace(/[i1|]/g, 'l').replaceAll('0', 'o')
}
