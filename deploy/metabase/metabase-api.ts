/**
 * Requests to Metabase's API, with a key. Needs only Node.js. Source: metabase.com/docs/latest/api,
 * read 2026-11-22.
 */

export type MetabaseApi = {
  readonly get: <T>(path: string) => Promise<T>
  readonly post: <T>(path: string, body: unknown) => Promise<T>
  readonly put: <T>(path: string, body: unknown) => Promise<T>
}

export type MetabaseAccess = {
  readonly url: string
  readonly key: string
  /** Further texts that no error message may show. */
  readonly secrets: readonly string[]
}

const timeoutMs = 60_000

export function createMetabaseApi({ url, key, secrets }: MetabaseAccess): MetabaseApi {
  const base = url.replace(/\/+$/, '')
  const hide = (text: string) =>
    [key, ...secrets].reduce((shown, secret) => shown.replaceAll(secret, '…'), text)

  async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${base}/api/${path}`, {
      method,
      headers: { 'x-api-key': key, accept: 'application/json', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // The key must not follow a redirection to another server.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error: unknown) => {
      throw new Error(hide(`${method} ${base}/api/${path} failed: ${reasonOf(error)}`))
    })
    const text = await response.text()
    if (!response.ok) {
      throw new Error(
        hide(`${method} ${base}/api/${path} answered ${response.status}: ${text.slice(0, 300)}`),
      )
    }
    return (text === '' ? null : JSON.parse(text)) as T
  }

  return {
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
  }
}

/** `fetch` hides the reason in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}
