/**
 * The statement runs in a process of its own, which has the file open read-only and nothing else of this program: SQLite
 * cannot be interrupted from outside, so a statement that takes too long or too much memory ends with its process.
 */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Ms } from '../values/time.ts'
import {
  type BoundedAnswer,
  type BoundedQuery,
  failedStatement,
  type QueryLimits,
  refusedStatement,
  tooLong,
} from './bounded-answer.ts'

export type SqliteRequest = { readonly statement: string }
export type SqliteResponse =
  | { readonly answer: BoundedAnswer }
  | { readonly refused: string }
  | { readonly failed: string }

const maxMemoryBytes = 512 * 2 ** 20
const memoryCheckMs: Ms = 100

export function openBoundedSqlite(path: string, limits: QueryLimits): BoundedQuery {
  let child: ReturnType<typeof start> | null = null
  const run = async (statement: string): Promise<BoundedAnswer> => {
    child ??= start(path, limits)
    const running = child
    const { promise, resolve, reject } = Promise.withResolvers<SqliteResponse>()
    const end = (error: Error) => {
      child = null
      running.kill('SIGKILL')
      reject(error)
    }
    const onEnd = () => end(refusedStatement('the process that ran it ended', 'try again, or read less'))
    const deadline = setTimeout(() => end(tooLong(limits)), limits.ms)
    const watch = setInterval(async () => {
      if ((await residentBytes(running.pid)) <= maxMemoryBytes) return
      end(refusedStatement('it needs more than 512 MB of memory, and was ended', 'read or sort fewer rows'))
    }, memoryCheckMs)
    running.once('message', resolve).once('error', onEnd).once('exit', onEnd)
    try {
      running.send({ statement } satisfies SqliteRequest)
      const response = await promise
      if ('answer' in response) return response.answer
      if ('failed' in response) throw failedStatement(response.failed)
      throw refusedStatement(response.refused, 'ask with one SELECT')
    } finally {
      clearTimeout(deadline)
      clearInterval(watch)
      running.removeAllListeners()
    }
  }
  return { run, close: async () => void child?.kill('SIGKILL') }
}

/** Without the environment of this process, which may hold keys. */
function start(path: string, limits: QueryLimits) {
  // The compiled package has JavaScript only.
  const file = fileURLToPath(new URL(`./bounded-sqlite-main${extname(import.meta.url)}`, import.meta.url))
  const args = ['--max-old-space-size=128', file, path, JSON.stringify(limits)]
  return spawn(process.execPath, args, { env: {}, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}

/** Linux only; elsewhere only the time limits what a statement takes. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')
  return Number(text.split(' ')[1] ?? 0) * 4096
}
