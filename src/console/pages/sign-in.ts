/** Signing in: by name and token, or by a one-time link, which a person confirms so that no preview uses it up. */
import { attribute, html, nothing } from '../../values/html.ts'
import type { Page } from '../page.ts'

type SignInForm = {
  /** Of a one-time link; null = by token. */
  readonly code: string | null
  readonly name: string
  /** Why the last attempt failed. */
  readonly problem: string | null
  /** Where to go afterwards. */
  readonly next: string
  /** There is no token to sign in with, only links. */
  readonly isByLinkOnly: boolean
}

export function signInPage({ code, name, problem, next, isByLinkOnly }: SignInForm): Page {
  const nameField = html`<label>Your name <input name="name" value="${name}" required maxlength="60" autocomplete="username"></label>`
  const tokenField = html`<label>Token <input name="token" type="password" required autocomplete="current-password"></label>`
  const hidden = (field: string, value: string) => html`<input type="hidden" name="${field}" value="${value}">`
  const form = html`<form method="post" action="/console/sign-in" class="stacked">
${problem === null ? nothing : html`<p class="problem" role="alert">${problem}</p>`}
${hidden('next', next)}${code === null ? nothing : hidden('code', code)}
${nameField}
${code === null ? tokenField : nothing}
<button type="submit" class="primary">Sign in</button>
<p class="faint">${code === null ? 'The token comes from whoever runs deskmirror. ' : ''}Your name stands beside every decision that you make here.</p></form>`
  const byLink = html`${problem === null ? nothing : html`<p class="problem" role="alert">${problem}</p>`}<p>Open the link that <code>deskmirror start</code> printed, or let <code>deskmirror console --link</code> print a new one.
A link works once, for 15 minutes. To sign in with a token instead, name people in <code>deskmirror.yaml</code> or set <code>DESKMIRROR_HTTP_TOKEN</code>.</p>`
  return { title: 'Sign in', section: null, content: isByLinkOnly && code === null ? byLink : form }
}

/** A page in place of the one that was asked for. */
export function problemPage(title: string, text: string, to: string | null): Page {
  const link = to === null ? nothing : html`<p><a class="button" href="${to}">Continue</a></p>`
  return { title, section: null, content: html`<p ${attribute('role', 'alert')}>${text}</p>${link}` }
}
