/**
 * A sandbox, a mirror of it in a folder, and commands that run in that folder, within this process.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openWarehouse, type Warehouse } from '../../src/app/open.ts'
import type { SandboxOptions } from '../../src/sandbox/memory-sandbox.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { runInProcess } from './run-in-process.ts'
import { type ProcessResult, type RunOptions, runDeskmirror } from './run-process.ts'

export type RunCli = (
  args: readonly string[],
  more?: Omit<RunOptions, 'cwd'>,
) => Promise<ProcessResult>

export type CliScenario = {
  readonly service: Sandbox
  readonly folder: string
  readonly run: RunCli
  /** The same in a process of its own, as users run it. */
  readonly runProgram: RunCli
  /** For programs that run it themselves. */
  readonly env: Readonly<Record<string, string>>
  /** Runs a command with `--json`: its document, and its exit code. */
  readonly ask: (
    ...args: readonly string[]
  ) => Promise<{ readonly exit: number | null; readonly document: Document }>
  readonly warehouse: Warehouse
  readonly conversation: (n: number) => string
  readonly visitor: (n: number) => string
  readonly file: (name: string, text: string) => string
}

/** Untyped, as for a script. */
type Document = ReturnType<typeof JSON.parse>

/** `atEnd`: the `onTestFinished` of the test, because tests run concurrently. */
export async function startCliScenario(
  atEnd: (work: () => void | Promise<void>) => void,
  options: SandboxOptions = {},
): Promise<CliScenario> {
  const size = { conversations: 12, visitors: 12, calls: 1, days: 1 }
  const switches = { 'rate.kind': 'off', ...options.switches } as const
  const service = await startSandbox({ size, prefix: '/v1', ...options, switches })
  atEnd(() => service.stop())
  const folder = createTempFolder(atEnd)
  const url = `sqlite:${join(folder, 'deskmirror.db')}`
  await syncOnce(url, service, { streams: ['conversations', 'messages', 'visitors'] })
  const warehouse = await openWarehouse(url)
  atEnd(() => warehouse.close())
  const env = {
    DESKMIRROR_BASE_URL: service.baseUrl,
    DESKMIRROR_PROJECT_ID: service.projectId,
    DESKMIRROR_API_KEY: service.key,
    DESKMIRROR_RATE: '60000/1s',
    DESKMIRROR_WRITE_RATE: '60000/1s',
    DESKMIRROR_VERIFY_AFTER: '200ms',
  }
  const inFolder = (more: Parameters<RunCli>[1] = {}) => ({
    ...more,
    cwd: folder,
    env: { ...env, ...more.env },
  })
  const run: RunCli = (args, more) => runInProcess(args, inFolder(more))
  return {
    service,
    folder,
    run,
    env,
    runProgram: (args, more) => runDeskmirror(args, inFolder(more)),
    ask: async (...args) => {
      const { exit, out } = await run([...args, '--json'])
      return { exit, document: JSON.parse(out) }
    },
    warehouse,
    conversation: (n) => idsOf(service, 'conversations')[n] ?? '',
    visitor: (n) => idsOf(service, 'visitors')[n] ?? '',
    file: (name, text) => {
      writeFileSync(join(folder, name), text)
      return name
    },
  }
}

function idsOf(service: Sandbox, stream: 'conversations' | 'visitors'): readonly string[] {
  return [...service.truth(stream)].map(({ id }) => id ?? '')
}
