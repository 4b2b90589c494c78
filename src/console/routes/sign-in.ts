/**
 * Signing in and out: by name and token, or by a one-time link, which a person confirms so that no
 * preview uses it up.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { tooManyText } from '../../http/auth.ts'
import { logRefusal } from '../../http/refusal-log.ts'
import { html, nothing } from '../../values/html.ts'
import type { ConsolePage } from '../frame.ts'
import { hiddenFields } from '../writeback-blocks.ts'
import { cookieName } from './admit.ts'
import { sessionMs } from './session.ts'
import { type Site, valuesOf } from './site.ts'

type Form = Readonly<Record<'name' | 'token' | 'code' | 'next', string>>

export function addSignIn(app: FastifyInstance, site: Site): void {
  const { store, log, now, sessions, attempts, isReadOnly, send, sendProblem } = site

  /** Null: refused. `taken`: by a link that is valid, and stays so. */
  const check = async ({ name, token, code }: Form) => {
    // A token that is written where the name belongs would be stored.
    if (sessions.isToken(name)) return null
    if (code === '') return sessions.checkToken(name, token)
    // First, so that a code that was made up does not tell whose names are known.
    if (!(await store.hasLink(code, now()))) return null
    if (sessions.isTaken(name)) return 'taken'
    return (await store.useLink(code, now()))
      ? { method: 'link' as const, viewer: sessions.guest(name) }
      : null
  }

  const sendForm = (reply: FastifyReply, status: number, form: Form, problem: string | null) =>
    send(reply.code(status), signInPage(form, problem, sessions.hasTokens()))

  const takenName =
    'This is, or looks like, the name of a person who has a token: sign in with it, or ' +
    'write another name, in letters from a to z.'
  const usedLink =
    'This link has been used or is too old. `deskmirror ' +
    `console${isReadOnly ? '' : ' --link'}\` prints a new one.`

  const record = (action: string, person: string, role: string, detail: string | null = null) =>
    store.append({ project: '', subject: null, count: null, action, person, role, detail }, now())

  const signIn = async (request: FastifyRequest, reply: FastifyReply, form: Form) => {
    const refuse = (status: 400 | 401 | 429, problem: string) =>
      sendForm(reply, status, form, problem)
    if (form.name === '' || form.name.length > 60)
      return refuse(400, 'Write your name, in 60 characters at most.')
    if (/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(form.name))
      return refuse(400, 'Write your name without invisible characters.')
    const found = await check(form)
    if (found === 'taken') return refuse(401, takenName)
    if (found === null) {
      const waitMs = attempts.recordWrong(request.ip, now())
      if (waitMs > 0) return refuse(429, tooManyText(waitMs))
      const person = sessions.nameOfPerson(form.name)
      logRefusal(log, { event: 'console.sign_in_refused', person })
      await record('sign_in_refused', person ?? '', '')
      return refuse(401, form.code === '' ? 'The name and the token do not match.' : usedLink)
    }
    const { method, viewer } = found
    await record('signed_in', viewer.name, viewer.role, method)
    log.info({ event: 'console.signed_in', person: viewer.name, role: viewer.role, method })
    setCookie(request, reply, sessions.sign(method, viewer.name, now()), sessionMs / 1000)
    return reply.redirect(safeNext(form.next), 303)
  }

  app.get('/sign-in', async (request, reply) => {
    const form = formOf(request.query)
    // A warehouse that is only looked at asks nobody who they are; a browser may follow the link
    // twice.
    if (!isReadOnly || form.code === '') return sendForm(reply, 200, form, null)
    if (request.viewer !== null) return reply.redirect(safeNext(form.next), 303)
    return signIn(request, reply, { ...form, name: 'viewer' })
  })

  app.post('/sign-in', async (request, reply) => signIn(request, reply, formOf(request.body)))

  app.post('/sign-out', async (request, reply) => {
    const { viewer } = request
    if (viewer !== null) await record('signed_out', viewer.name, viewer.role)
    await sessions.end(request.cookies[cookieName(request)] ?? '', now())
    setCookie(request, reply, '', 0)
    request.viewer = null
    return sendProblem(reply, 200, 'Signed out', 'You are signed out.', '/console/sign-in')
  })
}

function formOf(fields: unknown): Form {
  const values = valuesOf(fields)
  const text = (name: keyof Form) => (values(name).at(0) ?? '').trim()
  return { name: text('name'), token: text('token'), code: text('code'), next: text('next') }
}

/** A link to the page for signing in must not lead elsewhere afterwards. */
function safeNext(next: string): string {
  const url = URL.parse(next, 'http://console.invalid')
  const isOwn = url?.origin === 'http://console.invalid' && /^\/console(\/|$)/.test(url.pathname)
  return isOwn && !url.pathname.startsWith('/console/sign-')
    ? url.pathname + url.search
    : '/console'
}

function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  value: string,
  maxAge: number,
): void {
  const isSecure = request.protocol === 'https' || request.headers['x-forwarded-proto'] === 'https'
  const options = {
    path: '/console',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
    maxAge,
  } as const
  reply.setCookie(cookieName(request), value, options)
}

/**
 * `problem`: why the last attempt failed. `hasTokens`: otherwise there are only links to sign in
 * with.
 */
function signInPage(
  { code, name, next }: Form,
  problem: string | null,
  hasTokens: boolean,
): ConsolePage {
  const why = problem === null ? nothing : html`<p class="problem" role="alert">${problem}</p>`
  const nameField = html`<label>Your name <input name="name" value="${name}" required maxlength="60"
    autocomplete="username"></label>`
  const tokenField = html`<label>Token <input name="token" type="password" required
    autocomplete="current-password"></label>`
  const form = html`<form method="post" action="/console/sign-in" class="stacked">
${why}
${hiddenFields({ next: safeNext(next), code: code || null })}
${nameField}
${code === '' ? tokenField : nothing}
<button type="submit" class="primary">Sign in</button>
<p class="faint">${code === '' ? 'The token comes from whoever runs deskmirror. ' : ''}Your name
  stands beside every decision that you make here.</p></form>`
  const byLink = html`${why}<p>Open the link that <code>deskmirror start</code> printed, or let
    <code>deskmirror console --link</code> print a new one.
A link works once, for 15 minutes. To sign in with a token instead, name people in
  <code>deskmirror.yaml</code> or set <code>DESKMIRROR_HTTP_TOKEN</code>.</p>`
  return { title: 'Sign in', section: null, content: hasTokens || code !== '' ? form : byLink }
}
