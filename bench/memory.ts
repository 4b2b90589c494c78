/**
 * Memory of a first sync: does a mirror ten times as large need more? Goal: at most 1.15 times,
 * under 230 MB. And what the heap flags of bin/run-program.js save.
 */
import { fileURLToPath } from 'node:url'
import { runCommand, runSync } from './command.ts'
import { printFigure } from './figures.ts'
import { messagesEach, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const sizes = [100_000, 1_000_000] as const
/** Without the launcher, which sets the heap flags. */
const program = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))

const peaks: number[] = []
for (const messages of sizes) peaks.push(await firstSync(messages))
const [small = 0, large = 0] = peaks
printFigure('peak of the larger beside the smaller', large / small, 'times', 'goal: at most 1.15')

/** The peak of a first sync of this many messages, in 10^6 bytes. */
async function firstSync(messages: number): Promise<number> {
  const service = await startSandboxProcess(messages / messagesEach)
  try {
    return await withTempFolder(async (folder) => {
      const url = `sqlite:${folder}/mirror.db`
      const { peakMb, report, messages: rows } = await runSync(service, url)
      printFigure(
        `first sync of ${rows.toLocaleString('en-US')} messages: peak`,
        peakMb,
        'MB',
        'goal: under 230',
      )
      const withoutFlags = await runSync(service, `sqlite:${folder}/other.db`, program)
      printFigure(
        '  without the heap flags',
        withoutFlags.peakMb,
        'MB',
        'goal: at least 1.25 times',
      )
      printFigure('  time', report.tookMs / 1000, 's')
      printFigure('  message rows a second', (rows / report.tookMs) * 1000, 'rows/s')
      printFigure('  requests', report.requests, `(${messages / messagesEach} conversations)`)
      const again = await runSync(service, url)
      printFigure('second sync, nothing new: requests', again.report.requests, '')
      printFigure('  time', again.tookMs / 1000, 's', 'whole process')
      for (const command of ['status', 'migrate']) {
        printFigure(
          `${command}: time`,
          (await runCommand([command], service, url)).tookMs / 1000,
          's',
          'whole process',
        )
      }
      return peakMb
    })
  } finally {
    await service.stop()
  }
}
