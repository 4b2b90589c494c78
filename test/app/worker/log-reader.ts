/** What a worker says, line by line, and how to wait for it. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly event?: string; readonly time: string }

export type LogReader = {
  /** Every line of its log so far. */
  readonly log: readonly LogLine[]
  readonly write: (text: string) => void
  /**
   * A line since this was asked last, now or to come: what is said while tables are compared is not missed. Lines about a
   * single request do not count: whoever compares whole tables after each has nothing else to do.
   */
  readonly waitForNext: () => Promise<void>
  /** The first line that is like this: of the past, or else of the future. */
  readonly waitFor: (like: (line: LogLine) => boolean) => Promise<LogLine>
  /** The last lines, to be shown where a test fails. */
  readonly tail: () => string
}

/** `ended`: rejects when nothing more will be said. */
export function createLogReader(ended: Promise<never>): LogReader {
  const log: LogLine[] = []
  const listeners = new Set<() => void>()
  let hasUnread = false
  const line = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    listeners.add(resolve)
    return Promise.race([promise, ended]).finally(() => listeners.delete(resolve))
  }
  return {
    log,
    waitForNext: async () => {
      if (!hasUnread) await line()
      hasUnread = false
    },
    write: (text) => {
      const parsedLine: LogLine = text.startsWith('{')
        ? JSON.parse(text)
        : { event: 'said', text, time: new Date().toISOString() }
      log.push(parsedLine)
      if (parsedLine.event === 'call.ended') return
      hasUnread = true
      for (const listener of listeners) listener()
    },
    waitFor: async (like) => {
      for (let at = 0; ; at += 1) {
        while (at >= log.length) await line()
        const parsedLine = log[at]!
        if (like(parsedLine)) return parsedLine
      }
    },
    tail: () =>
      `The worker's last words:\n${log
        .slice(-40)
        .map((line) => JSON.stringify(line))
        .join('\n')}\n`,
  }
}
