/** Reads the log of a worker line by line, and waits for lines. */
import { onTestFailed } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { findDifferences } from '../mirror/sync/sync-sandbox.ts'

export type LogLine = Readonly<Record<string, unknown>> & {
  readonly event?: string
  readonly time: string
}

export type LogReader = {
  /** Every line of its log so far. */
  readonly log: readonly LogLine[]
  readonly write: (text: string) => void
  /**
   * Resolves on the next line since the last call, so that no line is missed while tables are
   * compared. Lines about a single request or time slice do not count: a test that compares tables
   * after each of them does nothing else on a busy machine. A sync that has ended is a line, too.
   */
  readonly waitForNext: () => Promise<void>
  /** The first matching line, already written or to come. */
  readonly waitFor: (isMatch: (line: LogLine) => boolean) => Promise<LogLine>
  /** The last lines, to be shown when a test fails. */
  readonly tail: () => string
}

/** `ended`: rejects when no more lines will come. */
export function createLogReader(ended: Promise<never>): LogReader {
  const log: LogLine[] = []
  const listeners = new Set<() => void>()
  let hasUnread = false
  const nextLine = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    listeners.add(resolve)
    return Promise.race([promise, ended]).finally(() => listeners.delete(resolve))
  }
  return {
    log,
    waitForNext: async () => {
      if (!hasUnread) await nextLine()
      hasUnread = false
    },
    write: (text) => {
      const parsedLine: LogLine = text.startsWith('{')
        ? JSON.parse(text)
        : { event: 'text', text, time: new Date().toISOString() }
      log.push(parsedLine)
      if (parsedLine.event === 'request.completed' || parsedLine.event === 'sync.more') return
      hasUnread = true
      for (const listener of listeners) listener()
    },
    waitFor: async (isMatch) => {
      for (let at = 0; ; at += 1) {
        while (at >= log.length) await nextLine()
        const parsedLine = log[at]!
        if (isMatch(parsedLine)) return parsedLine
      }
    },
    tail: () =>
      `The last lines of the worker's log:\n${log
        .slice(-40)
        .map((line) => JSON.stringify(line))
        .join('\n')}\n`,
  }
}

/**
 * Resolves when the mirror equals the service. Counting comes first, as comparing after each line
 * takes a while.
 */
export async function waitUntilEqual(
  { waitForNext }: Pick<LogReader, 'waitForNext'>,
  warehouse: Warehouse,
  sandbox: Sandbox,
  projectId = sandbox.projectId,
): Promise<void> {
  const counted = `select count(*) as n from messages where project_id = '${projectId}' and deleted_at is null`
  const hasAllMessages = async () =>
    Number((await warehouse.query(counted))[0]?.n) ===
    [...sandbox.truth('messages', projectId)].length
  const compare = async () =>
    (await hasAllMessages()) ? await findDifferences(warehouse, sandbox, projectId) : null
  let found = await compare()
  onTestFailed(
    () => void process.stderr.write(`Differences: ${JSON.stringify(found?.slice(0, 5))}\n`),
  )
  while (found?.length !== 0) {
    await waitForNext()
    found = await compare()
  }
}
