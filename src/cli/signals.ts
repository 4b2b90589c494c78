/** Ctrl-C and other signals: the first one finishes the current work, the second one ends the process. */
import type { EpochMs } from '../core/time.ts'

/** npm forwards a terminal's Ctrl-C to a program that has already received it: two close together count as one. */
const duplicateMs = 400

export function classifyInterrupt(firstAt: EpochMs | null, now: EpochMs): 'first' | 'echo' | 'again' {
  if (firstAt === null) return 'first'
  return now - firstAt < duplicateMs ? 'echo' : 'again'
}

/** An AbortSignal that these signals abort; a second one ends the process at once. */
function abortOnSignals(names: readonly NodeJS.Signals[], onFirst: () => void = () => {}): AbortSignal {
  const controller = new AbortController()
  let firstAt: EpochMs | null = null
  const stop = (name: NodeJS.Signals) => {
    const kind = classifyInterrupt(firstAt, Date.now())
    // The system ends it: an ordinary exit waits for a thread in the middle of a question to SQLite.
    if (kind === 'again') process.removeAllListeners(name).kill(process.pid, name)
    if (kind === 'echo') return
    firstAt = Date.now()
    onFirst()
    controller.abort()
  }
  for (const name of names) process.on(name, stop)
  return controller.signal
}

/** `notify` announces that the command stops after `inHand`. */
export function createInterruptSignal(notify: (line: string) => void, inHand: string): AbortSignal {
  return abortOnSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], () =>
    notify(`stopping after ${inHand}; press Ctrl-C again to stop at once`),
  )
}

export type ProcessSignals = ReturnType<typeof listenForSignals>

/** The events that a long-running process handles: stop and reload signals, and uncaught errors. */
export function listenForSignals() {
  const stopSignal = abortOnSignals(['SIGINT', 'SIGTERM'])
  // A SIGHUP before a listener is set must not end the process.
  let reload = () => {}
  process.on('SIGHUP', () => reload())
  return {
    stopSignal,
    /** SIGHUP. */
    onReload: (next: () => void) => {
      reload = next
    },
    /** An error that nothing caught. The process should end, because its state is unknown. */
    onUncaughtError: (listener: (error: unknown) => void) => {
      for (const name of ['unhandledRejection', 'uncaughtException'] as const) process.on(name, listener)
    },
    /** Ends the process, even with active timers. */
    exit: (code: number) => process.exit(code),
  }
}
