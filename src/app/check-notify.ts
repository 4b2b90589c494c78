/** Checks the address that notifications are posted to. */
import type { ProjectConfig } from '../config/config.ts'
import { openConnections } from '../service/exchange.ts'
import { NotPostedError, postText } from '../service/post-text.ts'

/** A test line is posted only if a person asks for it: others read that channel. */
export async function checkNotify(
  { name: project, notify, proxy }: ProjectConfig,
  { signal, postsLine = false }: { readonly signal: AbortSignal; readonly postsLine?: boolean },
) {
  const item = (
    state: 'ok' | 'error',
    detail: string,
    advice: { readonly hint?: string; readonly retryable?: boolean } = {},
  ) => [{ name: 'notify', state, detail, ...advice }]
  if (notify === null) {
    const hint = 'set DESKMIRROR_NOTIFY (`notify` in deskmirror.yaml)'
    return postsLine ? item('error', 'no address is set', { hint }) : []
  }
  if (!postsLine) return item('ok', 'an address is set; `check --notify` posts a test line to it')
  const connections = openConnections()
  try {
    const text = `${project}: a test of deskmirror. Notifications arrive here.`
    await postText(connections, { notify, proxy }, text, signal)
    return item('ok', 'the address accepted a test line')
  } catch (error) {
    if (!(error instanceof NotPostedError)) throw error
    const retryable = error.retryMs !== null
    const hint = retryable
      ? 'try again; the worker repeats what it could not post'
      : 'correct what `notify` names: make a new incoming webhook if this one is gone'
    return item('error', error.message, { hint, retryable })
  } finally {
    await connections.close()
  }
}
