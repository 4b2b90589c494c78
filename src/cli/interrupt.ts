/** Ctrl-C: the first one finishes the current work, the second one ends the process. */
import type { EpochMs } from '../core/time.ts'

/** npm forwards a terminal's Ctrl-C to a program that has already received it: two close together count as one. */
const duplicateMs = 400

export type InterruptKind = 'first' | 'echo' | 'again'

export function classifyInterrupt(firstAt: EpochMs | null, now: EpochMs): InterruptKind {
  if (firstAt === null) return 'first'
  return now - firstAt < duplicateMs ? 'echo' : 'again'
}

/** An AbortSignal that SIGINT, SIGTERM and SIGHUP abort. `notify` announces that it stops after `inHand`. */
export function createInterruptSignal(notify: (line: string) => void, inHand: string): AbortSignal {
  const controller = new AbortController()
  let firstAt: EpochMs | null = null
  const stop = () => {
    const now = Date.now()
    const kind = classifyInterrupt(firstAt, now)
    if (kind === 'again') process.exit(1)
    if (kind === 'echo') return
    firstAt = now
    notify(`stopping after ${inHand}; press Ctrl-C again to stop at once`)
    controller.abort()
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop)
  return controller.signal
}
