/** Messages as an export finds them. */
import { openWarehouse } from '../src/app/open.ts'
import { analyzeAllTables } from '../src/warehouse/statistics.ts'

/** As wide as typical messages, twenty to a conversation. */
export async function insertMessages(url: string, rows: number): Promise<void> {
  const warehouse = await openWarehouse(url)
  const text =
    'Thank you for waiting. Your order left our warehouse this morning, and should be with you by Friday. '
  const raw = (n: number) =>
    JSON.stringify({
      id: n,
      senderType: 'agent',
      kind: 'utterance',
      content: text + n,
      senderDisplayName: 'Ann',
      createdAt: timeOf(n),
    })
  for (let from = 0; from < rows; from += 5000) {
    const values = Array.from({ length: 5000 }, (_, i) => from + i).map(
      (n) =>
        `('p', '${conversationOf(n)}', ${n}, 'agent', 'utterance', '${text}${n}', 'Ann', '${timeOf(n)}', '${raw(n)}', '2026-01-01T00:00:00Z', 1)`,
    )
    await warehouse.query(`insert into messages (project_id, conversation_id, id, sender_type, kind, content,
      sender_display_name, created_at, raw, synced_at, asked_at) values ${values.join(', ')}`)
  }
  await analyzeAllTables(warehouse.db, warehouse.kind)
  await warehouse.close()
}

function timeOf(n: number): string {
  return new Date(Date.UTC(2025, 0, 1) + n * 30_000).toISOString().replace('.000', '')
}

/** Scattered, as UUIDs are. */
function conversationOf(n: number): string {
  const hex = (Math.imul(Math.floor(n / 20), 2_654_435_761) >>> 0).toString(16).padStart(8, '0')
  return `${hex}-0000-4000-8000-000000000000`
}
