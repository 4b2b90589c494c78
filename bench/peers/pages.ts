/** Bodies of pages as the service sends them: a list of conversations, and the messages of each. */

import { createBodyReader } from '../../src/service/body-reader.ts'
import { classifyExchange } from '../../src/service/classify-response.ts'
import type { Json } from '../../src/values/json.ts'
import { startSandboxProcess } from '../sandbox.ts'

export type PeerPage = { readonly parent: string; readonly body: Buffer }
/** `list`: the conversations, as one page of their list holds them. */
export type Pages = {
  readonly project: string
  readonly list: readonly Json[]
  readonly pages: readonly PeerPage[]
}

const request = { method: 'GET', path: '/', priority: 'backfill' } as const
const context = {
  request,
  requestedAt: 0,
  receivedAt: 0,
  defaultRetryAfterMs: 60_000,
  redact: (text: string) => text,
}

/** `count`: pages with the messages of a conversation, 200 at most. */
export async function readPages(count: number): Promise<Pages> {
  const { environment, stop } = await startSandboxProcess(count)
  const {
    DESKMIRROR_BASE_URL: base,
    DESKMIRROR_PROJECT_ID: project = '',
    DESKMIRROR_API_KEY: key = '',
  } = environment
  const get = async (path: string) =>
    Buffer.from(await (await fetch(base + path, { headers: { 'x-api-key': key } })).arrayBuffer())
  const list = await itemsOf(await get(`/public/projects/${project}/conversations?limit=200`))
  const pages: PeerPage[] = []
  for (const item of list) {
    const parent = (item as { readonly id: string }).id
    pages.push({ parent, body: await get(`/public/conversations/${parent}/messages?limit=200`) })
  }
  await stop()
  return { project, list, pages }
}

/** The rows of a body, parsed and checked as the client does. */
export async function itemsOf(bytes: Buffer): Promise<readonly Json[]> {
  const reader = createBodyReader(null, bytes.length)
  reader.write(bytes)
  const body = await reader.end()
  if (!body.ok) throw new Error(body.why)
  const outcome = classifyExchange(
    { kind: 'complete', head: { status: 200, headers: {} }, body: body.splitBody },
    context,
  )
  if (!outcome.ok) throw new Error('the page is not readable')
  return (outcome.response.data as { readonly items: readonly Json[] }).items
}
