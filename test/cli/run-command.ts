/** A command run in this process: what it works with is a literal, what it says is collected. */
import type { Command } from 'commander'
import type { CommandContext } from '../../src/cli/command-context.ts'
import type { Display } from '../../src/cli/render/display.ts'
import type { UseCases, WritebackUseCases } from '../../src/cli/use-cases.ts'
import type { Config } from '../../src/config/load.ts'
import { loadConfig } from '../../src/config/load.ts'
import { UserError } from '../../src/core/user-error.ts'
import { createLog } from '../../src/log.ts'

export type CommandOutput = { readonly exit: number; readonly out: string; readonly err: string }

const unasked = async (): Promise<never> => {
  throw new Error('this test does not expect to be asked')
}
const nothing: UseCases = {
  syncProject: unasked,
  pushProject: unasked,
  checkProject: unasked,
  verifyProject: unasked,
  mintWidgetToken: unasked,
  readStatus: unasked,
  migrateWarehouse: unasked,
}

const emptyDesk: WritebackUseCases = {
  addWriteback: unasked,
  listWritebacks: unasked,
  forEachWriteback: unasked,
  showWriteback: unasked,
  decideWritebacks: unasked,
  importWritebacks: unasked,
  previewImport: unasked,
}

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
    projects: config.projects.flatMap((it) => [
      { ...it, name: 'shop' },
      { ...it, name: 'school' },
    ]),
  }
}

export async function runCommand(
  command: (shell: CommandContext) => Command,
  args: readonly string[],
  work: Partial<UseCases & WritebackUseCases>,
  options: {
    readonly signal?: AbortSignal
    readonly now?: number
    readonly input?: Buffer
    readonly variables?: Readonly<Record<string, string>>
  } = {},
): Promise<CommandOutput> {
  const said = { exit: -1, out: '', err: '' }
  const err = (text: string) => {
    said.err += text
  }
  const display: Display = {
    kind: 'quiet',
    onProgress: () => {},
    onBudget: () => {},
    onLine: () => {},
    writeAbove: err,
    notify: err,
    clear: () => {},
  }
  const shell: CommandContext = {
    writeOut: (text) => {
      said.out += text
    },
    writeErr: err,
    setExitCode: (code) => {
      said.exit = code
    },
    openDisplay: () => display,
    loadConfig: () => twoProjects(options.variables),
    openLog: () => createLog({ level: 'silent', pretty: false, secrets: [], write: err }),
    wantsStackTraces: () => false,
    openInterruptSignal: () => options.signal ?? new AbortController().signal,
    loadUseCases: async () => ({ ...nothing, ...work }),
    loadWritebackUseCases: async () => ({ ...emptyDesk, ...work }),
    openStdin: () => ReadableStream.from(options.input === undefined ? [] : [options.input]),
    currentUser: () => 'ada',
    listenForSignals: () => {
      throw new Error('this test starts no worker')
    },
    loadWorker: unasked,
    now: () => options.now ?? 0,
  }
  await command(shell).exitOverride().parseAsync(args, { from: 'user' })
  return said
}

export function createUserError(exitCode: 1 | 2): UserError {
  return new UserError({ what: 'it did not work', why: 'because', next: 'do this', exitCode })
}
