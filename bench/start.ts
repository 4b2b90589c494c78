/**
 * How long the start of a command takes beyond that of Node.js itself, and `status` over a million messages whose file is
 * not in the cache of the system. BASELINE=FOLDER measures another checkout beside this one, in turns.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runSync } from './command.ts'
import { median, printFigure } from './figures.ts'
import { launcher, messagesEach, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const [rounds, coldRounds, messages] = [15, 5, 1_000_000]
const { BASELINE: baseline } = process.env
const programs = [
  { name: '', program: launcher },
  ...(baseline === undefined ? [] : [{ name: ' (baseline)', program: join(baseline, 'bin/deskmirror.js') }]),
]
const environment = {
  ...process.env,
  DESKMIRROR_BASE_URL: 'http://127.0.0.1:9',
  DESKMIRROR_API_KEY: 'unused',
  DESKMIRROR_PROJECT_ID: '',
}

await withTempFolder(async (folder) => {
  const files = programs.map((_, n) => `${folder}/mirror-${n}.db`)
  for (const [n, file] of files.entries()) {
    const { program } = programs[n] ?? { program: launcher }
    environment.DESKMIRROR_PROJECT_ID = await createMirror(file, program)
  }
  const bare = median(times(rounds, () => run(['-e', '0'], '')))
  printFigure('node alone', bare, 's')
  for (const args of [['--version'], ['--help'], ['status']]) {
    const [first, ...others] = inTurns(rounds, (n) => run([programs[n]?.program ?? '', ...args], files[n] ?? ''))
    printFigure(`${args.join(' ')}: beyond node alone`, (first ?? 0) - bare, 's', 'goal: under 0.25')
    for (const other of others) printFigure('  (baseline)', other - bare, 's')
  }
  const cold = inTurns(coldRounds, (n) => {
    dropFromCache(files[n] ?? '')
    return run([programs[n]?.program ?? '', 'status'], files[n] ?? '')
  })
  for (const [n, seconds] of cold.entries())
    printFigure(`status of ${messages} messages, cold${programs[n]?.name}`, seconds, 's', 'the whole process')
})

/** The id of the mirrored project. */
async function createMirror(file: string, program: string): Promise<string> {
  const service = await startSandboxProcess(messages / messagesEach)
  try {
    await runSync(service, `sqlite:${file}`, program)
    return service.environment.DESKMIRROR_PROJECT_ID ?? ''
  } finally {
    await service.stop()
  }
}

/** Seconds. Throws if the command fails. */
function run(args: readonly string[], file: string): number {
  const began = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, {
    env: { ...environment, DESKMIRROR_DATABASE_URL: `sqlite:${file}` },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  return (performance.now() - began) / 1000
}

/** The medians, by program. */
function inTurns(count: number, measure: (program: number) => number): readonly number[] {
  const measured = programs.map((): number[] => [])
  for (const _ of Array(count)) for (const [n, values] of measured.entries()) values.push(measure(n))
  return measured.map(median)
}

function times(count: number, measure: () => number): readonly number[] {
  return Array.from({ length: count }, measure)
}

/** Asks the kernel to forget the pages of the file (Linux). They must have been written before. */
function dropFromCache(file: string): void {
  execFileSync('sync', ['-f', file])
  execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })
}
