/**
 * Loaded before the program: writes down the kinds of the statements from the one that begins with
 * `KILL_FROM` on, by default the first write of an erasure or a move, and kills the process before the n-th of
 * one kind (`KILL_BEFORE="vacuum full 3"`).
 */
import { appendFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import pg from 'pg'

const { KILL_BEFORE: point, STATEMENTS: file, KILL_FROM: from } = process.env
const counts = new Map<string, number>()
const begins =
  from === undefined
    ? (text: string) => /^\s*insert into "?(erased_ids|sync_moves)"?/.test(text)
    : (text: string) => text.trimStart().startsWith(from)
let hasBegun = false

function beforeStatement(text: string): void {
  hasBegun ||= begins(text)
  if (!hasBegun) return
  const kind = kindOf(text)
  const count = (counts.get(kind) ?? 0) + 1
  counts.set(kind, count)
  if (file !== undefined) appendFileSync(file, `${kind} ${count}\n`)
  if (point === `${kind} ${count}`) process.kill(process.pid, 'SIGKILL')
}

const kinds =
  /^(insert into \w+|update \w+|delete from|alter table|vacuum full|pragma \w+|lock|[a-z]+)/

function kindOf(text: string): string {
  const plain = text.replaceAll('"', '').replaceAll(/\s+/g, ' ').trim()
  return kinds.exec(plain)?.[0] ?? plain
}

const { prepare } = Sqlite.prototype
Sqlite.prototype.prepare = function (this: Sqlite.Database, text: string) {
  const statement = prepare.call(this, text)
  for (const name of ['run', 'all', 'iterate'] as const) {
    const work = statement[name].bind(statement) as (...args: unknown[]) => unknown
    Object.assign(statement, {
      [name]: (...args: unknown[]) => {
        beforeStatement(text)
        return work(...args)
      },
    })
  }
  return statement
} as typeof prepare

const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
Object.assign(pg.Client.prototype, {
  query(this: pg.Client, statement: unknown, ...rest: unknown[]) {
    const text = typeof statement === 'string' ? statement : (statement as { text?: string }).text
    if (text !== undefined) beforeStatement(text)
    return query.call(this, statement, ...rest)
  },
})
