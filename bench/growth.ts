/**
 * How costs grow with the size of a mirror: first syncs of 10^4 to 5·10^6 messages into SQLite, and
 * after each a sync with nothing new. Time is that of the processor, which other work on the
 * machine affects less. Draws docs/pictures/growth.svg. `-- 10000 100000` measures these sizes and
 * draws nothing.
 */
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runSync } from './command.ts'
import { printFigure } from './figures.ts'
import { type Growth, growthChart } from './growth/chart.ts'
import { messagesEach, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const asked = process.argv.slice(2).map(Number)
const sizes = asked.length > 0 ? asked : [10_000, 100_000, 1_000_000, 5_000_000]

/**
 * A larger mirror is that of an older project: the messages of a day and the open work do not grow
 * with its age. Of the conversations that can be open a seventh is.
 */
const messagesADay = 10_000
const canBeOpen = 100

const measures = {
  fileMb: ['size of the file', 'MB'],
  requests: ['requests of a first sync', ''],
  seconds: ['processor time of a first sync', 's'],
  againRequests: ['requests with nothing new', ''],
  againSeconds: ['processor time with nothing new', 's'],
  peakMb: ['peak memory', 'MB'],
} as const
type Measured = Readonly<Record<keyof typeof measures, number>>

const measured: Measured[] = []
for (const messages of sizes) {
  process.stdout.write(`${messages.toLocaleString('en-US')} messages\n`)
  const found = await measure(messages)
  for (const [key, [name, unit]] of entriesOf(measures)) printFigure(`  ${name}`, found[key], unit)
  measured.push(found)
  // After each size: the last one takes as long as all others together, and may be stopped.
  if (asked.length === 0) drawChart()
}

function drawChart(): void {
  const path = fileURLToPath(new URL('../docs/pictures/growth.svg', import.meta.url))
  const growths = entriesOf(measures).map(([key, [name, unit]]): Growth => {
    return { name, unit, values: measured.map((found) => found[key]) }
  })
  writeFileSync(path, growthChart(sizes.slice(0, measured.length), growths))
}

function entriesOf<K extends string, V>(record: Readonly<Record<K, V>>): [K, V][] {
  return Object.entries(record) as [K, V][]
}

async function measure(messages: number): Promise<Measured> {
  const service = await startSandboxProcess(messages / messagesEach, {
    days: messages / messagesADay,
    open: canBeOpen,
  })
  try {
    return await withTempFolder(async (folder) => {
      const url = `sqlite:${folder}/mirror.db`
      const first = await runSync(service, url)
      const fileMb =
        readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0) / 1e6
      const again = await runSync(service, url)
      return {
        seconds: first.cpuMs / 1000,
        peakMb: first.peakMb,
        requests: first.report.requests,
        fileMb,
        againSeconds: again.cpuMs / 1000,
        againRequests: again.report.requests,
      }
    })
  } finally {
    await service.stop()
  }
}
