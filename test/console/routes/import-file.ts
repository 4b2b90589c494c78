/** Conversations to write back to, and files that are imported in the browser. */
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { commitRows, conversation, message, visitor } from '../../warehouse/row-fixtures.ts'
import type { TestConsole } from './console-server.ts'

export const targets = Array.from(
  { length: 60 },
  (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
)

export async function fillTargets(warehouse: Warehouse) {
  await commitRows(openMirror(warehouse, 'main'), {
    visitors: [visitor('v1', {}, { name: 'Zoë' })],
    conversations: targets.map((id) => conversation(id, { visitor_id: 'v1' })),
    messages: targets.map((id) => message(id, 1, { sender_type: 'visitor' })),
  })
}

export const csv = (ids: readonly string[], words = 'We have found it.') =>
  [
    'operation,conversation_id,content,sender_name',
    ...ids.map((id) => `message,${id},${words},Ann`),
  ].join('\n')

/** Sends the form of the page, as a browser does. */
export async function importFile(
  at: TestConsole,
  name: string,
  text: string | Uint8Array<ArrayBuffer>,
  fields: Record<string, string> = {},
) {
  const body = new FormData()
  for (const [field, value] of Object.entries(fields)) body.set(field, value)
  body.set('file', new Blob([text], { type: 'text/csv' }), name)
  const headers = { cookie: await at.signIn('olga'), 'sec-fetch-site': 'same-origin' }
  const response = await fetch(`${at.address}/console/p/main/import`, {
    method: 'POST',
    headers,
    body,
    redirect: 'manual',
  })
  return {
    status: response.status,
    location: response.headers.get('location') ?? '',
    text: await response.text(),
  }
}
