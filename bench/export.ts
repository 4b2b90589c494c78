/**
 * Exports of messages in every format, from SQLite and Postgres: rows per second, the size of the file, and the peak of the
 * process. Goal: ten times as many rows need at most 1.15 times the memory.
 */
import { rmSync, statSync } from 'node:fs'
import { exportFormats } from '../src/core/export.ts'
import { openWarehouse } from '../src/warehouse/open.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runCommand } from './command.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { withTempFolder } from './temp-folder.ts'

const sizes = process.argv.includes('--large') ? [100_000, 1_000_000] : [50_000, 200_000]
const service = { environment: {}, stop: async () => {} }

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    for (const rows of sizes) {
      await measure(`SQLite, ${rows} messages`, `sqlite:${folder}/${rows}.db`, rows, folder)
      await measure(`Postgres, ${rows} messages`, await createSchema(postgres.url, `rows_${rows}`), rows, folder)
    }
  } finally {
    await postgres.stop()
  }
})

async function measure(name: string, url: string, rows: number, folder: string): Promise<void> {
  await insertMessages(url, rows)
  const idle = await runCommand(
    ['export', 'messages', '--output', `${folder}/idle.csv`, '--since', '2100-01-01'],
    service,
    url,
  )
  rmSync(`${folder}/idle.csv`)
  for (const format of exportFormats) {
    const path = `${folder}/messages.${format}`
    const { tookMs, peakMb } = await runCommand(
      ['export', 'messages', '--format', format, '--output', path, '--quiet'],
      service,
      url,
    )
    const mb = statSync(path).size / 1e6
    rmSync(path)
    printFigure(
      `${name}, ${format}: rows a second`,
      (rows / (tookMs - idle.tookMs)) * 1000,
      'rows/s',
      'without the start of the process',
    )
    printFigure(
      '  peak of the process',
      peakMb,
      'MB',
      `${idle.peakMb.toFixed(0)} MB with nothing to export; file ${mb.toFixed(1)} MB`,
    )
  }
}

/** As wide as typical messages, twenty to a conversation. */
async function insertMessages(url: string, rows: number): Promise<void> {
  const warehouse = await openWarehouse(url)
  const text = 'Thank you for waiting. Your order left our warehouse this morning, and should be with you by Friday. '
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
  await warehouse.analyzeTables()
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
