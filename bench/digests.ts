/**
 * Counting a mirror for `verify --against`: rows a second and the peak of the process, from SQLite
 * and Postgres; does a larger mirror need more memory? And an audit: requests, and the time to draw
 * its sample. `--large`: a million messages.
 */
import { writeFileSync } from 'node:fs'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runCommand, runSync } from './command.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { messagesEach, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const sizes = process.argv.includes('--large') ? [100_000, 1_000_000] : [20_000, 200_000]

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    const peaks: { readonly SQLite: number; readonly Postgres: number }[] = []
    for (const messages of sizes) {
      const schema = await createSchema(postgres.url, `messages_${messages}`)
      peaks.push({
        SQLite: await measure(
          `SQLite, ${messages} messages`,
          `sqlite:${folder}/${messages}.db`,
          messages,
          folder,
        ),
        Postgres: await measure(`Postgres, ${messages} messages`, schema, messages, folder),
      })
    }
    const [small, large] = peaks
    for (const kind of ['SQLite', 'Postgres'] as const) {
      const growth = (large?.[kind] ?? 0) / (small?.[kind] ?? 1)
      printFigure(
        `${kind}: peak of the larger beside the smaller`,
        growth,
        'times',
        'goal: at most 1.15',
      )
    }
  } finally {
    await postgres.stop()
  }
})

/** The peak of the comparison, in 10^6 bytes. */
async function measure(
  name: string,
  url: string,
  messages: number,
  folder: string,
): Promise<number> {
  const service = await startSandboxProcess(messages / messagesEach)
  try {
    await runSync(service, url)
    const file = `${folder}/verified.json`
    const streams = ['--streams', 'conversations,messages,visitors,visitor_activity']
    const verified = await runCommand(
      ['verify', '--json', '--sample', '1', '--quiet', ...streams],
      service,
      url,
    )
    writeFileSync(file, verified.stdout)
    const idle = await runCommand(['--version'], service, url)
    const { tookMs, peakMb } = await runCommand(
      ['verify', '--against', file, '--quiet'],
      service,
      url,
    )
    const rate = (messages / (tookMs - idle.tookMs)) * 1000
    printFigure(
      `${name}: message rows counted a second`,
      rate,
      'rows/s',
      'with the other streams, without the start',
    )
    printFigure('  peak of the process', peakMb, 'MB')
    const audit = await runCommand(['audit', '--sample', '100', '--quiet'], service, url)
    printFigure(
      '  audit of 100 conversations and 100 visitors',
      audit.tookMs / 1000,
      's',
      'whole process, at no limit',
    )
    return peakMb
  } finally {
    await service.stop()
  }
}
