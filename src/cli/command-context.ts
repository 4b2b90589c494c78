/** What a command may touch of the world outside: the streams, the configuration, the work itself. */
import { userInfo } from 'node:os'
import type { Config, LogLevel } from '../config/load.ts'
import { loadConfig, wantsStackTraces } from '../config/load.ts'
import { systemErrorText } from '../core/system-error-text.ts'
import { createLog, type Logger } from '../log.ts'
import { collectSecrets } from '../config/secrets.ts'
import type { ConfigNeeds } from '../config/sources.ts'
import { type ProcessSignals, listenForSignals } from './process-signals.ts'
import type { Display } from './render/display.ts'
import { openDisplay } from './render/display.ts'
import type { ExitCode } from './exit-code.ts'
import { createInterruptSignal } from './interrupt.ts'
import type { WritebackUseCases, UseCases, WorkerUseCases } from './use-cases.ts'

export type CommandContext = {
  /** Writes to standard output: the answer, and nothing else. */
  readonly writeOut: (text: string) => void
  /** Writes to standard error: what went wrong. */
  readonly writeErr: (text: string) => void
  /** Sets the verdict; the command ends when its work is done. */
  readonly setExitCode: (code: ExitCode) => void
  /** Standard error: progress, and whatever is said beside it. */
  readonly openDisplay: (quiet: boolean) => Display
  readonly loadConfig: (needs: ConfigNeeds) => Config
  /** The log of a command, at the chosen level, else at one that suits the display. Says what is doubtful in the configuration. */
  readonly openLog: (config: Config, display: Display) => Logger
  readonly wantsStackTraces: () => boolean
  /** From this call on, Ctrl-C aborts the signal instead of ending the process. `inHand`: what is finished first. */
  readonly openInterruptSignal: (display: Display, inHand?: string) => AbortSignal
  /** Loaded only when a command really works, so that help and mistakes are answered at once. */
  readonly loadUseCases: () => Promise<UseCases>
  readonly loadWritebackUseCases: () => Promise<WritebackUseCases>
  /** Standard input. */
  readonly openStdin: () => AsyncIterable<Uint8Array>
  /** Who runs the command. */
  readonly currentUser: () => string
  /** From this call on, signals are for the worker to hear. */
  readonly listenForSignals: () => ProcessSignals
  readonly loadWorker: () => Promise<WorkerUseCases>
  readonly now: () => number
}

export function createCommandContext(): CommandContext {
  process.stdout.on('error', exitOnStdoutError)
  process.stderr.on('error', exitOnStderrError)
  return {
    writeOut: (text) => process.stdout.write(text),
    writeErr: (text) => process.stderr.write(text),
    setExitCode: (code) => {
      process.exitCode = code
    },
    openDisplay: (quiet) => openDisplay(process.stderr, quiet, Date.now),
    loadConfig,
    openLog: openCommandLog,
    wantsStackTraces: () => wantsStackTraces(),
    openInterruptSignal: (display, inHand = 'the page in hand') => createInterruptSignal(display.notify, inHand),
    loadUseCases: async () => ({
      ...(await import('../app/check.ts')),
      ...(await import('../app/push.ts')),
      ...(await import('../app/status.ts')),
      ...(await import('../app/sync.ts')),
      ...(await import('../app/token.ts')),
      ...(await import('../app/verify.ts')),
    }),
    loadWritebackUseCases: async () => ({ ...(await import('../app/outbox.ts')), ...(await import('../app/import.ts')) }),
    openStdin: () => process.stdin,
    currentUser,
    listenForSignals,
    loadWorker: () => import('../../jobs/worker.ts'),
    now: Date.now,
  }
}

/** A container may run as a number that no user has. */
function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

function openCommandLog(config: Config, display: Display): Logger {
  const level = config.logLevelChosen ? config.logLevel : levelByDisplay[display.kind]
  const secrets = collectSecrets(config)
  for (const warning of config.warnings) display.notify(warning)
  return createLog({ level, pretty: process.stderr.isTTY, secrets, write: (line) => display.writeAbove(line) })
}

/** A terminal's display shows already what `info` would say, and whoever wants quiet hears of errors only. */
const levelByDisplay = { terminal: 'warn', plain: 'info', quiet: 'error' } as const satisfies Record<Display['kind'], LogLevel>

/** Whoever asked for an answer must not take half of one for all of it. */
function exitOnStdoutError(error: NodeJS.ErrnoException): void {
  const why = systemErrorText(error)?.why ?? error.code
  if (error.code !== 'EPIPE') process.stderr.write(`deskmirror: cannot write the answer to standard output: ${why}\n`)
  exitOnStderrError(error)
}

/** `deskmirror status | head`: who reads has seen enough. Any other failure to write is a reason to stop, too. */
function exitOnStderrError(error: NodeJS.ErrnoException): void {
  process.exit(error.code === 'EPIPE' ? (process.exitCode ?? 0) : 1)
}
