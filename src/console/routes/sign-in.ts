/** Signing in and out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../config/roles.ts'
import { type Attempts, tooManyText } from '../../http/auth.ts'
import { problemPage, signInPage } from '../pages/sign-in.ts'
import type { ConsoleOptions } from './console-options.ts'
import type { SendPage } from './send-page.ts'
import { type Sessions, sessionMs } from './session.ts'

type Form = Readonly<Record<'name' | 'token' | 'code' | 'next', string>>

/** How requests show who they are from. */
export type Access = { readonly sessions: Sessions; readonly attempts: Attempts }

export function addSignIn(
  app: FastifyInstance,
  options: ConsoleOptions,
  { sessions, attempts }: Access,
  send: SendPage,
): void {
  const { audit, log, now, useLink } = options

  const check = async ({ name, token, code }: Form, address: string) => {
    // A token that is written where the name belongs would be stored.
    const isName = !sessions.isToken(name)
    const isLink = isName && code !== '' && !sessions.isTaken(name)
    const found = isName && code === '' ? sessions.checkToken(name, token) : null
    // Before anything is waited for: many may try at the same time.
    if (!isLink && found === null) attempts.recordFailure(address, now())
    if (!isLink) return found
    if (!(await useLink(code))) {
      attempts.recordFailure(address, now())
      return null
    }
    return { method: 'link' as const, viewer: { name, role: 'approver', hidesMessages: false } satisfies Viewer }
  }

  app.get('/sign-in', async (request, reply) => {
    const query = formOf(request.query)
    return send(reply, signInPage({ ...shown(query, sessions), problem: null }), null)
  })

  app.post('/sign-in', async (request, reply) => {
    const form = formOf(request.body)
    const refuse = (status: 400 | 401 | 429, problem: string) =>
      send(reply.code(status), signInPage({ ...shown(form, sessions), problem }), null)
    const waitMs = attempts.waitMs(request.ip, now())
    if (waitMs > 0) return refuse(429, tooManyText(waitMs))
    if (form.name === '' || form.name.length > 60) return refuse(400, 'Write your name, in 60 characters at most.')
    if (/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(form.name))
      return refuse(400, 'Write your name without invisible characters.')
    const found = await check(form, request.ip)
    if (found === null) {
      const person = sessions.nameOfPerson(form.name)
      log.warn({ event: 'console.sign_in_refused', person })
      await audit.append({ ...noSubject, person: person ?? '', role: '', action: 'sign_in_refused' })
      return refuse(401, form.code === '' ? 'The name and the token do not fit.' : usedLink(sessions, form.name))
    }
    const { method, viewer } = found
    await audit.append({ ...noSubject, person: viewer.name, role: viewer.role, action: 'signed_in', detail: method })
    log.info({ event: 'console.signed_in', person: viewer.name, role: viewer.role, method })
    setCookie(request, reply, sessions.sign(method, viewer.name, now()), sessionMs / 1000)
    return reply.redirect(safeNext(form.next), 303)
  })

  app.post('/sign-out', async (request, reply) => {
    const { viewer } = request
    if (viewer !== null)
      await audit.append({ ...noSubject, person: viewer.name, role: viewer.role, action: 'signed_out' })
    await sessions.end(request.cookies[cookieName(request)] ?? '', now())
    setCookie(request, reply, '', 0)
    return send(reply, problemPage('Signed out', 'You are signed out.', '/console/sign-in'), null)
  })
}

const noSubject = { project: '', subject: null, count: null, detail: null } as const

function usedLink(sessions: Sessions, name: string): string {
  return sessions.isTaken(name)
    ? 'This is, or looks like, the name of a person who has a token: sign in with it, or write another name, in letters from a to z.'
    : 'This link has been used or is too old. `deskmirror console --link` prints a new one.'
}

function shown({ code, name, next }: Form, sessions: Sessions) {
  return { code: code === '' ? null : code, name, next: safeNext(next), isByLinkOnly: !sessions.hasTokens() }
}

function formOf(body: unknown): Form {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  const text = (name: keyof Form) => {
    const value = fields[name]
    return typeof value === 'string' ? value.trim() : ''
  }
  return { name: text('name'), token: text('token'), code: text('code'), next: text('next') }
}

/** A link to the page for signing in must not lead elsewhere afterwards. */
function safeNext(next: string): string {
  const url = URL.parse(next, 'http://console.invalid')
  const isOwn = url?.origin === 'http://console.invalid' && /^\/console(\/|$)/.test(url.pathname)
  return isOwn && !url.pathname.startsWith('/console/sign-') ? url.pathname + url.search : '/console'
}

/** Cookies do not know ports, and several consoles may run on one machine. */
export function cookieName(request: FastifyRequest): string {
  return `deskmirror-${request.socket.localPort ?? 0}`
}

function setCookie(request: FastifyRequest, reply: FastifyReply, value: string, maxAge: number): void {
  const isSecure = request.protocol === 'https' || request.headers['x-forwarded-proto'] === 'https'
  const options = { path: '/console', httpOnly: true, sameSite: 'lax', secure: isSecure, maxAge } as const
  reply.setCookie(cookieName(request), value, options)
}
