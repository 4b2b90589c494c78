/**
 * The statement runs in a process of its own, which has the file open read-only: SQLite cannot be
 * interrupted from outside, so one that takes too long or too much memory ends with it.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Ms } from '../values/time.ts'
import {
  type AnswerReader,
  answerLimits,
  type BoundedAnswer,
  type BoundedQuery,
  refusedStatement,
  tooLong,
} from './bounded-answer.ts'

export type SqliteResponse = BoundedAnswer | { readonly why: string; readonly next?: string }

export function openBoundedSqlite(path: string, limitMs: Ms, reader: AnswerReader): BoundedQuery {
  let child: ChildProcess | null = null
  const run = async (statement: string): Promise<BoundedAnswer> => {
    const running = child?.connected ? child : start(path, reader)
    child = running
    const settled = new AbortController()
    let why = refusedStatement(
      'it needs more than 512 MB of memory, and was ended',
      'read or sort fewer rows',
    )
    const deadline = setTimeout(() => {
      why = tooLong(limitMs)
      running.kill('SIGKILL')
    }, limitMs)
    const ended = once(running, 'exit', settled).then(([code]) => {
      child = null
      throw code === null ? why : refusedStatement('the process that runs it ended', 'try again')
    })
    try {
      running.send(statement)
      const [response]: SqliteResponse[] = await Promise.race([
        once(running, 'message', settled),
        ended,
      ])
      if (response === undefined || 'why' in response)
        throw refusedStatement(response?.why ?? '', response?.next)
      return response
    } finally {
      clearTimeout(deadline)
      settled.abort()
    }
  }
  return { run, close: async () => void child?.kill('SIGKILL') }
}

/** Without the environment of this process, which may hold keys. */
function start(path: string, reader: AnswerReader): ChildProcess {
  // The compiled package has JavaScript only.
  const file = fileURLToPath(
    new URL(`./bounded-sqlite-main${extname(import.meta.url)}`, import.meta.url),
  )
  const stdio: StdioOptions = ['ignore', 'ignore', 'inherit', 'ipc']
  const memory = `--max-old-space-size=${answerLimits[reader].heap}`
  return spawn(process.execPath, [memory, file, path, reader], { env: {}, stdio })
}
