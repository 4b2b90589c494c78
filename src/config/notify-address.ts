/**
 * Where notifications are posted. Whoever knows the address can write to the channel, so it is a
 * secret, and no error repeats any of it.
 */
import type { Secret } from '../values/secret.ts'
import { isLoopback } from '../values/server-address.ts'
import { revealIfReadable } from './secret-fields.ts'

/** Undefined: it can be used, or a command that needs no secret could not read it. */
export function notifyProblem(notify: Secret | null): string | undefined {
  const [text] = revealIfReadable(notify)
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol !== 'https:' && !(url?.protocol === 'http:' && isLoopback(url.hostname)))
    return 'must be an https address, as Slack, Teams or Mattermost give for an incoming webhook'
  return url.username === '' && url.password === ''
    ? undefined
    : 'must have no user name or password: the path of such an address is its secret'
}
