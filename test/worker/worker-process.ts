/** Runs `deskmirror start` as a separate process, and stops it at the end of the test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFailed, onTestFinished } from 'vitest'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { cleanEnvironment, launcher } from '../cli/run-process.ts'
import type { WorkerStores } from './fixtures.ts'
import { createLogReader, type LogReader } from './log-reader.ts'

export type WorkerProcess = LogReader & {
  readonly child: ChildProcess
  /** Resolves to the exit code, null after a kill. */
  readonly ended: Promise<number | null>
}

export function startWorkerProcess(
  {
    databaseUrl,
    queueUrl,
    cwd,
  }: Pick<WorkerStores, 'databaseUrl' | 'queueUrl'> & { readonly cwd?: string },
  sandbox: Pick<Sandbox, 'baseUrl' | 'projectId' | 'key'>,
  variables: Readonly<Record<string, string>> = {},
): WorkerProcess {
  const child = spawn(process.execPath, [launcher, 'start'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd,
    env: cleanEnvironment({
      DESKMIRROR_BASE_URL: sandbox.baseUrl,
      DESKMIRROR_PROJECT_ID: sandbox.projectId,
      DESKMIRROR_API_KEY: sandbox.key,
      DESKMIRROR_DATABASE_URL: databaseUrl,
      DESKMIRROR_QUEUE_URL: queueUrl,
      DESKMIRROR_HTTP: '127.0.0.1:0',
      DESKMIRROR_RATE: '1000000000/60s',
      DESKMIRROR_WRITE_RATE: '1000000000/60s',
      DESKMIRROR_SCHEDULE_INCREMENTAL: '2s',
      ...variables,
    }),
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const failure = ended.then((code) => {
    throw new Error(`the worker ended with ${code}. ${reader.tail()}`)
  })
  failure.catch(() => {})
  const reader = createLogReader(failure)
  onTestFailed(() => void process.stderr.write(reader.tail()))
  createInterface({ input: child.stderr! }).on('line', reader.write)
  return { ...reader, child, ended }
}
