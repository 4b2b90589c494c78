/** What a worker says, line by line, and how to wait for it. */
export type Line = Readonly<Record<string, unknown>> & { readonly event?: string; readonly time: string }

export type Words = {
  /** Every line of its log so far. */
  readonly log: readonly Line[]
  readonly hear: (text: string) => void
  /** The next line that tells of more than a single request: whoever compares whole tables after each has nothing else to do. */
  readonly next: () => Promise<void>
  /** The first line that is like this: of the past, or else of the future. */
  readonly says: (like: (line: Line) => boolean) => Promise<Line>
  /** The last lines, to be shown where a test fails. */
  readonly last: () => string
}

/** `ended`: rejects when nothing more will be said. */
export function words(ended: Promise<never>): Words {
  const log: Line[] = []
  const listeners = new Set<() => void>()
  const next = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    listeners.add(resolve)
    return Promise.race([promise, ended]).finally(() => listeners.delete(resolve))
  }
  return {
    log,
    next,
    hear: (text) => {
      const line: Line = text.startsWith('{')
        ? JSON.parse(text)
        : { event: 'said', text, time: new Date().toISOString() }
      log.push(line)
      if (line.event !== 'call.ended') for (const listener of listeners) listener()
    },
    says: async (like) => {
      for (let at = 0; ; at += 1) {
        while (at >= log.length) await next()
        const line = log[at]!
        if (like(line)) return line
      }
    },
    last: () =>
      `The worker's last words:\n${log
        .slice(-40)
        .map((line) => JSON.stringify(line))
        .join('\n')}\n`,
  }
}
