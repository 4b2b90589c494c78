/** Checks the address that notifications are posted to. */
import type { ProjectConfig } from '../config/config.ts'
import { notifyProblem } from '../config/notify-address.ts'
import { openConnections } from '../service/exchange.ts'
import { NotPostedError, postText } from '../service/post-text.ts'

const correction = 'correct what `notify` names: make a new incoming webhook if this one is gone'

/** A test line is posted only if a person asks for it: others read that channel. */
export async function checkNotify(
  { name: project, notify, proxy }: ProjectConfig,
  { signal, postsLine = false }: { readonly signal: AbortSignal; readonly postsLine?: boolean },
) {
  const item = (state: 'ok' | 'error', detail: string, hint: string | null = null) => [
    { name: 'notify', state, detail, hint },
  ]
  if (notify === null)
    return postsLine
      ? item('error', 'no address is set', 'set DESKMIRROR_NOTIFY (`notify` in deskmirror.yaml)')
      : []
  const problem = notifyProblem(notify)
  if (problem !== undefined) return item('error', problem, correction)
  if (!postsLine) return item('ok', 'an address is set; `check --notify` posts a test line to it')
  const connections = openConnections()
  try {
    const text = `${project}: a test of deskmirror. Notifications arrive here.`
    await postText(connections, { notify, proxy }, text, signal)
    return item('ok', 'the address accepted a test line')
  } catch (error) {
    if (!(error instanceof NotPostedError)) throw error
    const retryable = error.retryMs !== null
    const hint = retryable ? 'try again; the worker repeats what it could not post' : correction
    return item('error', error.message, hint).map((it) => ({ ...it, retryable }))
  } finally {
    await connections.close()
  }
}
