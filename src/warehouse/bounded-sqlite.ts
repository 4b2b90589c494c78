/**
 * The statement runs in a process of its own, which has the file open read-only and nothing else of this program: SQLite
 * cannot be interrupted from outside, so a statement that takes too long or too much memory ends with its process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BoundedAnswer, type BoundedQuery, type QueryLimits, refusedStatement, tooLong } from './bounded-answer.ts'

export type SqliteRequest = { readonly statement: string }
export type SqliteResponse = { readonly answer: BoundedAnswer } | { readonly why: string; readonly next?: string }

export function openBoundedSqlite(path: string, limits: QueryLimits): BoundedQuery {
  let child: ChildProcess | null = null
  const run = async (statement: string): Promise<BoundedAnswer> => {
    if (!child?.connected) child = start(path, limits)
    const running = child
    const settled = new AbortController()
    const { signal } = settled
    let why = refusedStatement('it needs more than 512 MB of memory, and was ended', 'read or sort fewer rows')
    const deadline = setTimeout(() => {
      why = tooLong(limits)
      running.kill('SIGKILL')
    }, limits.ms)
    try {
      running.send({ statement } satisfies SqliteRequest)
      const ended = once(running, 'exit', { signal }).then(([code]) => {
        child = null
        throw code === null ? why : refusedStatement('the process that runs it ended', 'try again')
      })
      const [response]: SqliteResponse[] = await Promise.race([once(running, 'message', { signal }), ended])
      if (response === undefined || 'why' in response) throw refusedStatement(response?.why ?? '', response?.next)
      return response.answer
    } finally {
      clearTimeout(deadline)
      settled.abort()
    }
  }
  return { run, close: async () => void child?.kill('SIGKILL') }
}

/** Without the environment of this process, which may hold keys. */
function start(path: string, limits: QueryLimits): ChildProcess {
  // The compiled package has JavaScript only.
  const file = fileURLToPath(new URL(`./bounded-sqlite-main${extname(import.meta.url)}`, import.meta.url))
  const args = ['--max-old-space-size=128', file, path, JSON.stringify(limits)]
  return spawn(process.execPath, args, { env: {}, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}
