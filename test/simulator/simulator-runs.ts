/**
 * Runs schedules for a test, with `replay.ts`, in a Node.js of its own: several of them run side by
 * side, and none replaces the clocks of the test runner.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { makeOnce } from '../support/make-once.ts'
import { sourceVersion } from '../support/warehouse-templates.ts'
import { makeTemplate } from './template.ts'

const root = join(import.meta.dirname, '../..')
const replay = join('test', 'simulator', 'replay.ts')
const maxLines = 200

/** `signal`: ends it. `nodeOptions`: before the script. */
type ReplayOptions = {
  readonly signal: AbortSignal
  readonly nodeOptions?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Rejects at the first schedule that breaks a promise, and names its seed, the command that replays
 * it, and the end of its trace.
 */
export async function runSchedules(
  first: number,
  count: number,
  signal: AbortSignal,
  ...options: readonly string[]
) {
  await runReplay([...options, String(first), String(count)], { signal })
}

export const simulatorTemplate = () => makeOnce(`${sourceVersion()}-simulator.db`, makeTemplate)

/** What it prints. Rejects if it fails. */
export async function runReplay(
  words: readonly string[],
  { signal, nodeOptions = [], env }: ReplayOptions,
) {
  const template = `--template=${await simulatorTemplate()}`
  const options = { cwd: root, signal, maxBuffer: 1 << 28, env: { ...process.env, ...env } }
  return new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [...nodeOptions, replay, template, ...words],
      options,
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout)
        else reject(signal.aborted ? error : new Error(describeFailure(stdout, stderr)))
      },
    )
  })
}

/** `stdout`: a trace, and then the seed and what it breaks. */
function describeFailure(stdout: string, stderr: string): string {
  const seed = /^seed (\d+): /m.exec(stdout)?.[1]
  const command = seed === undefined ? '' : `replay it with \`node ${replay} ${seed}\``
  return [command, ...stdout.trim().split('\n').slice(-maxLines), stderr.trim()].join('\n')
}
