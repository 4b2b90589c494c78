/** Memory of a first sync: does a mirror of ten times the size need more? Goal: at most 1.15 times, under 200 MB. */
import { run, sync } from './command.ts'
import { print } from './figures.ts'
import { inFolder } from './folder.ts'
import { messagesEach, startService } from './sandbox.ts'

const sizes = [100_000, 1_000_000] as const

const peaks: number[] = []
for (const messages of sizes) peaks.push(await first(messages))
const [small = 0, large = 0] = peaks
print('peak of the larger beside the smaller', large / small, 'times', 'goal: at most 1.15')

/** The peak of a first sync of so many messages, in 10^6 bytes. */
async function first(messages: number): Promise<number> {
  const service = await startService(messages / messagesEach)
  try {
    return await inFolder(async (folder) => {
      const url = `sqlite:${folder}/desk.db`
      const { peakMb, report, messages: rows } = await sync(service, url)
      print(`first sync of ${rows.toLocaleString('en-US')} messages: peak`, peakMb, 'MB', 'goal: under 200')
      print('  time', report.tookMs / 1000, 's')
      print('  message rows a second', (rows / report.tookMs) * 1000, 'rows/s')
      print('  requests', report.requests, `(${messages / messagesEach} conversations)`)
      const again = await sync(service, url)
      print('second sync, nothing new: requests', again.report.requests, '')
      print('  time', again.tookMs / 1000, 's', 'whole process')
      for (const command of ['status', 'migrate']) {
        print(`${command}: time`, (await run([command], service, url)).tookMs / 1000, 's', 'whole process')
      }
      return peakMb
    })
  } finally {
    await service.stop()
  }
}
