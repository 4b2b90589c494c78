/** The access of a command to the outside: streams, configuration, use cases. */
import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Config, collectSecrets } from '../config/config.ts'
import {
  describeConfiguration,
  loadConfig,
  proxyOfEnvironment,
  wantsStackTraces,
} from '../config/load.ts'
import type { ConfigNeeds } from '../config/setting.ts'
import type { Logger } from '../log.ts'
import { toPrintableLines } from '../values/format.ts'
import type { EpochMs } from '../values/time.ts'
import { systemErrorText } from '../values/user-error.ts'
import { readCommit } from './commit.ts'
import type { ExitCode } from './explain-error.ts'
import { type Display, openDisplay } from './render/display.ts'

export type CommandContext = ReturnType<typeof createCommandContext>

export function createCommandContext() {
  process.stdout.on('error', exitOnStdoutError)
  process.stderr.on('error', exitOnStderrError)
  return {
    writeOut: (text: string): void =>
      void process.stdout.write(isTerminal() ? toPrintableLines(text) : text),
    /** Standard output for results of any size. `write` resolves when more may be written. */
    openStdout: () => ({
      isTerminal: isTerminal(),
      write: isTerminal() ? createTerminalWriter(writeToStdout) : writeToStdout,
    }),
    writeErr: (text: string): void => void process.stderr.write(text),
    setExitCode: (code: ExitCode): void => {
      process.exitCode = code
    },
    openDisplay: (quiet: boolean): Display => openDisplay(process.stderr, quiet, Date.now),
    /** With `notifyMoved`, as whoever opens a warehouse gets the configuration. */
    loadConfig: (
      needs: ConfigNeeds,
    ): Config & { readonly notifyMoved?: (line: string) => void } => {
      return { ...loadConfig(needs), notifyMoved: createMovedNotice() }
    },
    /** Never throws: for commands that need no configuration, and must not write over it. */
    describeConfiguration: () => describeConfiguration(),
    proxyOfEnvironment: () => proxyOfEnvironment(),
    openLog: openCommandLog,
    wantsStackTraces: () => wantsStackTraces(),
    /** From now on, Ctrl-C aborts the signal instead. `inHand`: what is finished first. */
    openInterruptSignal: ({ notify }: Display, inHand = 'the current page'): AbortSignal =>
      abortOnSignals(endingSignals, () =>
        notify(`stopping after ${inHand}; press Ctrl-C again to stop at once`),
      ),
    /** Where nothing is left undone: when the work has ended, the process ends by the signal. */
    openEndingSignal: (): AbortSignal =>
      abortOnSignals(endingSignals, (name) => process.on('exit', () => endBySignal(name))),
    /** Loads use cases when they are needed, so that help and usage errors respond at once. */
    load: <UseCases>(load: () => Promise<UseCases>): Promise<UseCases> => load(),
    openStdin: (): AsyncIterable<Uint8Array> => process.stdin,
    currentUser,
    /** From this call on, the worker handles signals. */
    listenForSignals,
    readVersion,
    now: Date.now,
  }
}

/** Each line once, however often the warehouse is opened. */
function createMovedNotice(): (line: string) => void {
  const shown = new Set<string>()
  return (line) => {
    if (!shown.has(line)) process.stderr.write(`deskmirror: ${line}\n`)
    shown.add(line)
  }
}

/** Of the program, and of its schema, which is that of the last migration. */
async function readVersion() {
  // Loaded here, because it takes longer than most commands.
  const { migrationNames } = await import('../../schema/migrations/migrations.ts')
  // In a checkout, or compiled.
  const paths = ['../../package.json', '../../../package.json'].map(
    (path) => new URL(path, import.meta.url),
  )
  const found = paths.find((url) => existsSync(url))
  const program =
    found === undefined ? 'unknown' : String(JSON.parse(readFileSync(found, 'utf8')).version)
  const schema = migrationNames.at(-1) ?? 'none'
  const folder = found === undefined ? null : fileURLToPath(new URL('.', found))
  const commit = folder === null ? null : readCommit(folder, found === paths[1])
  const made = commit === null ? '' : `, commit ${commit}`
  return { versions: { program, schema, commit }, text: `${program} (schema ${schema}${made})` }
}

const isTerminal = (): boolean => process.stdout.isTTY === true

/** Rows may contain what moves a terminal's cursor, or worse. Files and pipes get it as it is. */
export function createTerminalWriter(write: (bytes: Uint8Array) => Promise<void>) {
  // A letter may be in two chunks.
  const decoder = new TextDecoder()
  return (bytes: Uint8Array): Promise<void> => {
    const text = decoder.decode(bytes, { stream: true }).replaceAll('\r\n', '\n')
    return write(Buffer.from(toPrintableLines(text)))
  }
}

/** An error ends the process: see `exitOnStdoutError`. */
function writeToStdout(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(bytes, () => resolve())
  })
}

/** In a container the process may run under a numeric id without a user name. */
function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

/** At the configured level, or else one that suits the display. Prints configuration warnings. */
async function openCommandLog(config: Config, display: Display): Promise<Logger> {
  // A terminal's display shows what `info` would log; with `--quiet` only errors are logged.
  const byDisplay = { terminal: 'warn', plain: 'info', quiet: 'error' } as const
  const level = config.logLevelChosen ? config.logLevel : byDisplay[display.kind]
  const secrets = collectSecrets(config)
  for (const warning of config.warnings) display.notify(warning)
  // Only then: `status` and many others log nothing.
  const { createLog } = await import('../log.ts')
  return createLog({
    level,
    pretty: process.stderr.isTTY,
    secrets,
    write: (line) => display.writeAbove(line),
  })
}

/** A truncated result must not pass for a complete one. */
function exitOnStdoutError(error: NodeJS.ErrnoException): void {
  const why = systemErrorText(error)?.why ?? error.code
  if (error.code !== 'EPIPE')
    process.stderr.write(`deskmirror: cannot write the result to standard output: ${why}\n`)
  exitOnStderrError(error)
}

/** `deskmirror status | head` closes the pipe, which is no error. Another one ends the process. */
function exitOnStderrError(error: NodeJS.ErrnoException): void {
  process.exit(error.code === 'EPIPE' ? (process.exitCode ?? 0) : 1)
}

/** npm forwards a Ctrl-C that the program has received already: two close together are one. */
const duplicateMs = 400

export function classifyInterrupt(
  firstAt: EpochMs | null,
  now: EpochMs,
): 'first' | 'echo' | 'again' {
  if (firstAt === null) return 'first'
  return now - firstAt < duplicateMs ? 'echo' : 'again'
}

/** An AbortSignal that these signals abort; a second one ends the process at once. */
function abortOnSignals(
  names: readonly NodeJS.Signals[],
  onFirst: (name: NodeJS.Signals) => void = () => {},
): AbortSignal {
  const controller = new AbortController()
  let firstAt: EpochMs | null = null
  const stop = (name: NodeJS.Signals) => {
    const kind = classifyInterrupt(firstAt, Date.now())
    if (kind === 'again') endBySignal(name)
    if (kind === 'echo') return
    firstAt = Date.now()
    onFirst(name)
    controller.abort()
  }
  for (const name of names) process.on(name, stop)
  return controller.signal
}

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** By the system, as an ordinary exit waits for a thread that SQLite keeps busy. */
function endBySignal(name: NodeJS.Signals): void {
  process.removeAllListeners(name).kill(process.pid, name)
}

/** The events that a long-running process handles: stop and reload signals, and uncaught errors. */
function listenForSignals() {
  const signal = abortOnSignals(['SIGINT', 'SIGTERM'])
  const stopped = new Promise<'stop'>((resolve) => {
    signal.addEventListener('abort', () => resolve('stop'), { once: true })
  })
  // A SIGHUP before a listener is set must not end the process.
  let reload = () => {}
  process.on('SIGHUP', () => reload())
  return {
    stopped,
    /** SIGHUP. */
    onReload: (next: () => void) => {
      reload = next
    },
    /** An error that nothing caught. The process should end, because its state is unknown. */
    onUncaughtError: (listener: (error: unknown) => void) => {
      for (const name of ['unhandledRejection', 'uncaughtException'] as const)
        process.on(name, listener)
    },
    /** Ends the process, even with active timers. */
    exit: (code: number) => process.exit(code),
  }
}
