/** What a command may touch of the world outside: the streams, the configuration, the work itself. */
import { userInfo } from 'node:os'
import type { Config, LogLevel } from '../config.ts'
import { loadConfig, wantsStackTraces } from '../config.ts'
import { systemWords } from '../core/system-words.ts'
import { createLog, type Logger } from '../log.ts'
import { secretsIn } from '../settings/secrets.ts'
import type { Needs } from '../settings/sources.ts'
import { type Daemon, daemon } from './daemon.ts'
import type { Display } from './display.ts'
import { openDisplay } from './display.ts'
import type { ExitCode } from './exit.ts'
import { interruptible } from './interrupt.ts'
import type { QueueRoom, Work, WorkerRoom } from './work.ts'

export type Shell = {
  /** Writes to standard output: the answer, and nothing else. */
  readonly out: (text: string) => void
  /** Writes to standard error: what went wrong. */
  readonly err: (text: string) => void
  /** Sets the verdict; the command ends when its work is done. */
  readonly exit: (code: ExitCode) => void
  /** Standard error: progress, and whatever is said beside it. */
  readonly display: (quiet: boolean) => Display
  readonly loadConfig: (needs: Needs) => Config
  /** The log of a command, at the chosen level, else at one that suits the display. Says what is doubtful in the configuration. */
  readonly openLog: (config: Config, display: Display) => Logger
  readonly stackTraces: () => boolean
  /** From this call on, Ctrl-C aborts the signal instead of ending the process. `inHand`: what is finished first. */
  readonly interruptible: (display: Display, inHand?: string) => AbortSignal
  /** Loaded only when a command really works, so that help and mistakes are answered at once. */
  readonly work: () => Promise<Work>
  readonly queue: () => Promise<QueueRoom>
  /** Standard input. */
  readonly input: () => AsyncIterable<Uint8Array>
  /** Who runs the command. */
  readonly person: () => string
  /** From this call on, signals are for the worker to hear. */
  readonly daemon: () => Daemon
  readonly worker: () => Promise<WorkerRoom>
  readonly now: () => number
}

export function openShell(): Shell {
  process.stdout.on('error', endUnheard)
  process.stderr.on('error', endQuietly)
  return {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    exit: (code) => {
      process.exitCode = code
    },
    display: (quiet) => openDisplay(process.stderr, quiet, Date.now),
    loadConfig,
    openLog: logTo,
    stackTraces: () => wantsStackTraces(),
    interruptible: (display, inHand = 'the page in hand') => interruptible(display.say, inHand),
    work: async () => ({
      ...(await import('../compose/check.ts')),
      ...(await import('../compose/push.ts')),
      ...(await import('../compose/status.ts')),
      ...(await import('../compose/sync.ts')),
      ...(await import('../compose/token.ts')),
      ...(await import('../compose/verify.ts')),
    }),
    queue: async () => ({ ...(await import('../compose/queue.ts')), ...(await import('../compose/import.ts')) }),
    input: () => process.stdin,
    person,
    daemon,
    worker: () => import('../../jobs/worker.ts'),
    now: Date.now,
  }
}

/** A container may run as a number that no user has. */
function person(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

function logTo(config: Config, display: Display): Logger {
  const level = config.logLevelChosen ? config.logLevel : levels[display.kind]
  const secrets = secretsIn(config)
  for (const warning of config.warnings) display.say(warning)
  return createLog({ level, pretty: process.stderr.isTTY, secrets, write: (line) => display.above(line) })
}

/** A terminal's display shows already what `info` would say, and whoever wants quiet hears of errors only. */
const levels = { terminal: 'warn', plain: 'info', quiet: 'error' } as const satisfies Record<Display['kind'], LogLevel>

/** Whoever asked for an answer must not take half of one for all of it. */
function endUnheard(error: NodeJS.ErrnoException): void {
  const why = systemWords(error)?.why ?? error.code
  if (error.code !== 'EPIPE') process.stderr.write(`deskmirror: cannot write the answer to standard output: ${why}\n`)
  endQuietly(error)
}

/** `deskmirror status | head`: who reads has seen enough. Any other failure to write is a reason to stop, too. */
function endQuietly(error: NodeJS.ErrnoException): void {
  process.exit(error.code === 'EPIPE' ? (process.exitCode ?? 0) : 1)
}
