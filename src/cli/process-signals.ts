/** What a process that runs for months hears from outside: stop, read the configuration again; and its own mistakes. */
import { classifyInterrupt } from './interrupt.ts'

export type ProcessSignals = {
  /** Aborted by SIGTERM or SIGINT; a second one ends the process at once. */
  readonly stopSignal: AbortSignal
  /** SIGHUP. */
  readonly onReload: (reload: () => void) => void
  /** An error that nobody caught. The process should end: nobody knows what it left undone. */
  readonly onUncaughtError: (tell: (error: unknown) => void) => void
  /** Ends the process, whatever still has a timer. */
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
  // A hangup before anybody listens is not to end the process.
  let reload = () => {}
  process.on('SIGHUP', () => reload())
  return {
    stopSignal: controller.signal,
    onReload: (next) => {
      reload = next
    },
    onUncaughtError: (tell) => {
      for (const name of ['unhandledRejection', 'uncaughtException'] as const) process.on(name, tell)
    },
    exit: (code) => process.exit(code),
  }
}
