/**
 * Exports of messages in every format, from SQLite and Postgres: rows per second, the size of the
 * file, and the peak of the process; does a larger table need more memory? `--large`: a million
 * rows.
 */

import { rmSync, statSync } from 'node:fs'
import { openWarehouse } from '../src/app/open.ts'
import { exportFormats } from '../src/export/core/formats.ts'
import { analyzeAllTables } from '../src/warehouse/statistics.ts'
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
    const peaks: Peaks[] = []
    for (const rows of sizes) {
      const schema = await createSchema(postgres.url, `rows_${rows}`)
      peaks.push({
        SQLite: await measureFormats(
          `SQLite, ${rows} messages`,
          `sqlite:${folder}/${rows}.db`,
          rows,
          folder,
        ),
        Postgres: await measureFormats(`Postgres, ${rows} messages`, schema, rows, folder),
      })
    }
    printGrowth(peaks)
  } finally {
    await postgres.stop()
  }
})

/** The peaks of the formats, in their order. */
type Peaks = { readonly SQLite: readonly number[]; readonly Postgres: readonly number[] }

function printGrowth([small, large]: readonly Peaks[]): void {
  for (const kind of ['SQLite', 'Postgres'] as const) {
    for (const [n, format] of exportFormats.entries()) {
      const growth = (large?.[kind][n] ?? 0) / (small?.[kind][n] ?? 1)
      printFigure(
        `${kind}, ${format}: peak of the larger beside the smaller`,
        growth,
        'times',
        'goal: at most 1.15',
      )
    }
  }
}

async function measureFormats(
  name: string,
  url: string,
  rows: number,
  folder: string,
): Promise<readonly number[]> {
  await insertMessages(url, rows)
  const nothing = ['export', 'messages', '--output', `${folder}/idle.csv`, '--since', '2100-01-01']
  const idle = await runCommand(nothing, service, url)
  rmSync(`${folder}/idle.csv`)
  const peaks: number[] = []
  for (const format of exportFormats) {
    const path = `${folder}/messages.${format}`
    const args = ['export', 'messages', '--format', format, '--output', path, '--quiet']
    const { tookMs, peakMb } = await runCommand(args, service, url)
    const rate = (rows / (tookMs - idle.tookMs)) * 1000
    const size = `file ${(statSync(path).size / 1e6).toFixed(1)} MB`
    rmSync(path)
    printFigure(
      `${name}, ${format}: rows a second`,
      rate,
      'rows/s',
      'without the start of the process',
    )
    printFigure(
      '  peak of the process',
      peakMb,
      'MB',
      `${idle.peakMb.toFixed(0)} MB with nothing to export; ${size}`,
    )
    peaks.push(peakMb)
  }
  return peaks
}

/** As wide as typical messages, twenty to a conversation. */
async function insertMessages(url: string, rows: number): Promise<void> {
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
