/** What a process that runs for months hears from outside: stop, read the configuration again; and its own mistakes. */
import { press } from './interrupt.ts'

export type Daemon = {
  /** Aborted by SIGTERM or SIGINT; a second one ends the process at once. */
  readonly stopped: AbortSignal
  /** SIGHUP. */
  readonly onReload: (reload: () => void) => void
  /** An error that nobody caught. The process should end: nobody knows what it left undone. */
  readonly onMistake: (tell: (error: unknown) => void) => void
  /** Ends the process, whatever still has a timer. */
  readonly leave: (code: number) => void
}

export function daemon(): Daemon {
  const controller = new AbortController()
  let firstAt: number | null = null
  const stop = () => {
    const pressed = press(firstAt, Date.now())
    if (pressed === 'again') process.exit(1)
    firstAt ??= Date.now()
    controller.abort()
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop)
  // A hangup before anybody listens is not to end the process.
  let reload = () => {}
  process.on('SIGHUP', () => reload())
  return {
    stopped: controller.signal,
    onReload: (next) => {
      reload = next
    },
    onMistake: (tell) => {
      for (const name of ['unhandledRejection', 'uncaughtException'] as const) process.on(name, tell)
    },
    leave: (code) => process.exit(code),
  }
}
