/** The events that a long-running process handles: stop and reload signals, and uncaught errors. */
import { classifyInterrupt } from './interrupt.ts'

export type ProcessSignals = {
  /** Aborted by SIGTERM or SIGINT; a second one ends the process at once. */
  readonly stopSignal: AbortSignal
  /** SIGHUP. */
  readonly onReload: (reload: () => void) => void
  /** An error that nothing caught. The process should end, because its state is unknown. */
  readonly onUncaughtError: (listener: (error: unknown) => void) => void
  /** Ends the process, even with active timers. */
  readonly exit: (code: number) => void
}

export function listenForSignals(): ProcessSignals {
  const controller = new AbortController()
  let firstAt: number | null = null
  const stop = () => {
    const kind = classifyInterrupt(firstAt, Date.now())
    if (kind === 'again') process.exit(1)
    firstAt ??= Date.now()
    controller.abort()
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop)
  // A SIGHUP before a listener is set must not end the process.
  let reload = () => {}
  process.on('SIGHUP', () => reload())
  return {
    stopSignal: controller.signal,
    onReload: (next) => {
      reload = next
    },
    onUncaughtError: (listener) => {
      for (const name of ['unhandledRejection', 'uncaughtException'] as const) process.on(name, listener)
    },
    exit: (code) => process.exit(code),
  }
}
