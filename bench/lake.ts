/**
 * A lake of messages, from SQLite and Postgres: the first one, one with nothing new, and one after
 * a day's changes; does a larger table need more memory? `--large`: a million rows.
 */
import { openWarehouse } from '../src/app/open.ts'
import type { LakeReport } from '../src/export/lake/write-lake.ts'
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
    const peaks: number[][] = []
    for (const rows of sizes) {
      const schema = await createSchema(postgres.url, `rows_${rows}`)
      peaks.push([
        await measure(`SQLite, ${rows} messages`, `sqlite:${folder}/${rows}.db`, rows, folder),
        await measure(`Postgres, ${rows} messages`, schema, rows, folder),
      ])
    }
    for (const [n, kind] of ['SQLite', 'Postgres'].entries()) {
      const growth = (peaks[1]?.[n] ?? 0) / (peaks[0]?.[n] ?? 1)
      printFigure(`${kind}: peak of the larger beside the smaller`, growth, 'times', 'goal: 1.15')
    }
  } finally {
    await postgres.stop()
  }
})

async function measure(name: string, url: string, rows: number, folder: string): Promise<number> {
  await insertMessages(url, rows)
  const lake = `${folder}/${name.replaceAll(/\W+/g, '-')}`
  const write = async (what: string, goal: string) => {
    const args = ['export', 'messages', '--lake', lake, '--json', '--quiet']
    const { tookMs, peakMb, stdout } = await runCommand(args, service, url)
    const report = JSON.parse(stdout) as LakeReport
    const written = report.objects.reduce((sum, object) => sum + object.written, 0)
    printFigure(`${name}, ${what}`, tookMs / 1000, 's', `${written} files written; ${goal}`)
    return peakMb
  }
  const peakMb = await write('first', 'goal: 60 s for a million')
  await write('nothing new', 'goal: 10 s for a million')
  const warehouse = await openWarehouse(url)
  await warehouse.query(`update message_rows set synced_at = '2026-02-01T00:00:00Z' where id in
    (${rows - 1}, ${rows - 2000}, ${rows - 3000})`)
  await warehouse.close()
  await write("after a day's changes", 'goal: at most 2 files')
  printFigure('  peak of the process', peakMb, 'MB')
  return peakMb
}
