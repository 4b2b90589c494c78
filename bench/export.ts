/**
 * Exports of messages in every format, from SQLite and Postgres: rows per second, the size of the
 * file, and the peak of the process; does a larger table need more memory? `--large`: a million
 * rows.
 */

import { rmSync, statSync } from 'node:fs'
import { exportFormats } from '../src/export/core/formats.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runCommand } from './command.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { insertMessages } from './insert-messages.ts'
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
