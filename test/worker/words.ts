/** What a worker says, line by line, and how to wait for it. */
export type Line = Readonly<Record<string, unknown>> & { readonly event?: string; readonly time: string }

export type Words = {
  /** Every line of its log so far. */
  readonly log: readonly Line[]
  readonly hear: (text: string) => void
  /**
   * A line since this was asked last, now or to come: what is said while tables are compared is not missed. Lines about a
   * single request do not count: whoever compares whole tables after each has nothing else to do.
   */
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
  let unheeded = false
  const line = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    listeners.add(resolve)
    return Promise.race([promise, ended]).finally(() => listeners.delete(resolve))
  }
  return {
    log,
    next: async () => {
      if (!unheeded) await line()
      unheeded = false
    },
    hear: (text) => {
      const said: Line = text.startsWith('{')
        ? JSON.parse(text)
        : { event: 'said', text, time: new Date().toISOString() }
      log.push(said)
      if (said.event === 'call.ended') return
      unheeded = true
      for (const listener of listeners) listener()
    },
    says: async (like) => {
      for (let at = 0; ; at += 1) {
        while (at >= log.length) await line()
        const said = log[at]!
        if (like(said)) return said
      }
    },
    last: () =>
      `The worker's last words:\n${log
        .slice(-40)
        .map((line) => JSON.stringify(line))
        .join('\n')}\n`,
  }
}
