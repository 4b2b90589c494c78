/**
 * Runs many schedules in a test, with `replay.ts`: a Node.js of its own runs them a third faster than the test runner, which
 * reaches every import through an object. A failure names the seed, the command that replays it alone, and the end of its
 * trace.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const replay = join('test', 'simulator', 'replay.ts')
const maxLines = 200

/** Rejects at the first schedule that breaks a promise. `signal`: ends it. */
export function runSchedules(first: number, count: number, signal: AbortSignal): Promise<void> {
  const options = { cwd: root, signal, maxBuffer: 1 << 28 }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [replay, String(first), String(count)], options, (error, stdout, stderr) => {
      if (error === null) resolve()
      else reject(signal.aborted ? error : new Error(describeFailure(stdout, stderr)))
    })
  })
}

/** `stdout`: a trace, and then the seed and what it breaks. */
function describeFailure(stdout: string, stderr: string): string {
  const seed = /^seed (\d+): /m.exec(stdout)?.[1]
  const command = seed === undefined ? '' : `replay it with \`node ${replay} ${seed}\``
  return [command, ...stdout.trim().split('\n').slice(-maxLines), stderr.trim()].join('\n')
}
