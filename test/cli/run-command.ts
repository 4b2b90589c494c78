/** Runs a command in this process with literal use cases, and collects its output. */
import type { Command } from 'commander'
import type { CommandContext } from '../../src/cli/command-context.ts'
import type { Display } from '../../src/cli/render/display.ts'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createLog } from '../../src/log.ts'
import { UserError } from '../../src/values/user-error.ts'

export type CommandOutput = { readonly exit: number; readonly out: string; readonly err: string }

/** What a test passes instead of the modules in `src/app/` that a command loads. */
type UseCases = Partial<
  typeof import('../../src/app/audit.ts') &
    typeof import('../../src/app/batches.ts') &
    typeof import('../../src/app/check.ts') &
    typeof import('../../src/app/export.ts') &
    typeof import('../../src/app/facts.ts') &
    typeof import('../../src/app/import.ts') &
    typeof import('../../src/app/outbox.ts') &
    typeof import('../../src/app/push.ts') &
    typeof import('../../src/app/report.ts') &
    typeof import('../../src/app/review.ts') &
    typeof import('../../src/app/review.ts') &
    typeof import('../../src/app/migrate.ts') &
    typeof import('../../src/app/status.ts') &
    typeof import('../../src/app/sync.ts') &
    typeof import('../../src/app/token.ts') &
    typeof import('../../src/app/verify.ts') &
    typeof import('../../src/app/verify.ts') &
    typeof import('../../src/app/batches.ts')
>

/** Two projects, `shop` and `school`. */
export function twoProjects(variables: Readonly<Record<string, string>> = {}): Config {
  const env = {
    ...variables,
    DESKMIRROR_BASE_URL: 'https://h',
    DESKMIRROR_PROJECT_ID: 'p',
    DESKMIRROR_API_KEY: 'key-of-shop',
  }
  const config = loadConfig('service', '/nowhere', env)
  return {
    ...config,
    projects: config.projects.flatMap((project) => [
      { ...project, name: 'shop' },
      { ...project, name: 'school' },
    ]),
  }
}

export async function runCommand(
  command: (context: CommandContext) => Command,
  args: readonly string[],
  useCases: UseCases,
  options: {
    readonly signal?: AbortSignal
    readonly now?: number
    readonly input?: Buffer
    /** Whether standard output is a terminal. */
    readonly isTerminal?: boolean
    readonly variables?: Readonly<Record<string, string>>
  } = {},
): Promise<CommandOutput> {
  const output = { exit: -1, out: '', err: '' }
  const err = (text: string) => {
    output.err += text
  }
  const display: Display = {
    kind: 'quiet',
    onLine: () => {},
    writeAbove: err,
    notify: err,
    clear: () => {},
  }
  const context: CommandContext = {
    writeOut: (text) => {
      output.out += text
    },
    openStdout: () => ({
      isTerminal: options.isTerminal === true,
      write: async (bytes) => {
        output.out += Buffer.from(bytes).toString()
      },
    }),
    writeErr: err,
    setExitCode: (code) => {
      output.exit = code
    },
    openDisplay: () => display,
    loadConfig: () => twoProjects(options.variables),
    describeConfiguration: () => twoProjects(options.variables),
    proxyOfEnvironment: () => ({ address: null, exceptions: '' }),
    openLog: async () => createLog({ level: 'silent', pretty: false, secrets: [], write: err }),
    wantsStackTraces: () => false,
    openInterruptSignal: () => options.signal ?? new AbortController().signal,
    openEndingSignal: () => options.signal ?? new AbortController().signal,
    load: async <Module>() => useCases as Module,
    openStdin: () => ReadableStream.from(options.input === undefined ? [] : [options.input]),
    currentUser: () => 'ada',
    listenForSignals: () => {
      throw new Error('this test starts no worker')
    },
    readVersion: async () => ({
      versions: { program: '1.2.3', schema: '0099_last', commit: null },
      text: '1.2.3 (schema 0099_last)',
    }),
    now: () => options.now ?? 0,
  }
  await command(context).exitOverride().parseAsync(args, { from: 'user' })
  return output
}

export function createUserError(exitCode: 1 | 2): UserError {
  return new UserError({ what: 'it did not work', why: 'because', next: 'do this', exitCode })
}
