/**
 * How long the start of a command takes beyond that of Node.js itself, in this checkout and in the
 * installed package, and `status` over a million messages whose file is not in the cache of the
 * system. BASELINE=FOLDER measures another checkout beside them, in turns.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { installPackage } from '../test/support/install-package.ts'
import { runSync } from './command.ts'
import { median, printFigure } from './figures.ts'
import { launcher, messagesEach, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const [rounds, coldRounds, messages] = [15, 5, 1_000_000]
const { BASELINE: baseline } = process.env
const environment = {
  ...process.env,
  DESKMIRROR_BASE_URL: 'http://127.0.0.1:9',
  DESKMIRROR_API_KEY: 'unused',
  DESKMIRROR_PROJECT_ID: '',
}

type Program = { readonly name: string; readonly program: string; readonly file: string }

await withTempFolder(async (folder) => {
  const file = `${folder}/mirror.db`
  environment.DESKMIRROR_PROJECT_ID = await createMirror(file, launcher)
  const programs: Program[] = [
    { name: 'checkout', program: launcher, file },
    { name: 'package', program: join(await installPackage(folder), 'bin/deskmirror.js'), file },
  ]
  if (baseline !== undefined) {
    // Its schema may be another one.
    const other = {
      name: 'baseline',
      program: join(baseline, 'bin/deskmirror.js'),
      file: `${folder}/baseline.db`,
    }
    environment.DESKMIRROR_PROJECT_ID = await createMirror(other.file, other.program)
    programs.push(other)
  }
  const bare = median(Array.from({ length: rounds }, () => run(['-e', '0'], '')))
  printFigure('node alone', bare, 's')
  for (const args of [['--version'], ['--help'], ['status']])
    for (const [{ name }, seconds] of inTurns(programs, rounds, (each) =>
      run([each.program, ...args], each.file),
    ))
      printFigure(
        `${args.join(' ')} beyond node alone, ${name}`,
        seconds - bare,
        's',
        'goal: at most 0.4',
      )
  const runCold = (each: Program) => {
    dropFromCache(each.file)
    return run([each.program, 'status'], each.file)
  }
  for (const [{ name }, seconds] of inTurns(programs, coldRounds, runCold))
    printFigure(`status of ${messages} messages, cold, ${name}`, seconds, 's', 'the whole process')
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

/** The medians. */
function inTurns(
  programs: readonly Program[],
  count: number,
  measure: (program: Program) => number,
) {
  const measured = programs.map((program): [Program, number[]] => [program, []])
  for (const _ of Array(count))
    for (const [program, values] of measured) values.push(measure(program))
  return measured.map(([program, values]) => [program, median(values)] as const)
}

/** Asks the kernel to forget the pages of the file (Linux). They must have been written before. */
function dropFromCache(file: string): void {
  execFileSync('sync', ['-f', file])
  execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })
}
