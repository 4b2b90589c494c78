/**
 * Watches a world while it runs: what is committed when a write leaves a process, and what the rows
 * of the mirror do.
 */
import type Database from 'better-sqlite3'
import type { Ms } from '../../src/values/time.ts'
import type { Scheduler, SimulatedProcess } from './scheduler.ts'
import type { NetworkRequest } from './simulated-network.ts'

export type Observer = ReturnType<typeof createObserver>

type OpenRow = {
  readonly id: string
  readonly operation: string
  readonly payload: string
  readonly owner: string | null
  readonly expires_at: string | null
}

/** How long a statement may take between the check of an expiry and the send. */
const maxSendDelayMs: Ms = 3000

const replacedRows = 'simulator_replaced_rows'

/** Lets the database itself note what no statement of an observer could see in time. */
export function addTriggers(database: Database.Database): void {
  database.exec(`create table ${replacedRows} (stream text, id text)`)
  for (const stream of ['conversations', 'visitors', 'calls'])
    database.exec(`create trigger simulator_${stream} after update on ${stream} when new.asked_at < old.asked_at
      begin insert into ${replacedRows} values ('${stream}', new.id); end`)
}

/** `report`: called with a promise that is broken. */
export function createObserver(
  database: Database.Database,
  scheduler: Scheduler,
  report: (failure: string) => void,
) {
  const sendingIn = database.prepare<[string], OpenRow>(
    `select id, operation, payload, owner, expires_at from writebacks
     where coalesce(conversation_id, visitor_id) = ? and status = 'sending' order by seq`,
  )
  const earlierOpen = database.prepare<[string], { readonly id: string; readonly status: string }>(
    `select before.id, before.status from writebacks, writebacks as before
     where writebacks.id = ? and before.lane = writebacks.lane and before.seq < writebacks.seq
       and before.status in ('queued','sending','uncertain')`,
  )

  const replaced = database.prepare<[], { readonly stream: string; readonly id: string }>(
    `select stream, id from ${replacedRows}`,
  )

  /**
   * Promise 6: the intent is committed, by this process, before a byte leaves; and lanes are first
   * in, first out.
   */
  function onWrite(
    process: SimulatedProcess,
    { method, path: requestPath, body }: NetworkRequest,
  ): void {
    if (method === 'GET') return
    const target = /\/(?:conversations|visitors)\/([^/?]+)/.exec(requestPath)?.[1] ?? ''
    const rows = sendingIn.all(target)
    const row = rows.find((each) => matchesBody(each, requestPath, body))
    if (row === undefined) {
      report(
        `${process.name} sends ${method} ${requestPath} ${body}, which no committed row intends`,
      )
      return
    }
    const owner = JSON.parse(row.owner ?? '{"pid":null}') as { readonly pid: number | null }
    if (owner.pid !== process.pid)
      report(`${process.name} sends write-back ${row.id}, which belongs to process ${owner.pid}`)
    if (Date.parse(row.expires_at ?? '9999-12-31') + maxSendDelayMs < Date.now())
      report(`${process.name} sends write-back ${row.id}, which expired at ${row.expires_at}`)
    for (const before of earlierOpen.all(row.id))
      report(
        `${process.name} sends write-back ${row.id} although ${before.id} before it is ${before.status}`,
      )
    scheduler.log(process.name, `sends write-back ${row.id} (${row.operation} ${row.payload})`)
  }

  /**
   * Promise 2, as far as rows tell: a copy that was asked for earlier has never replaced a later
   * one.
   */
  function checkReplacedRows(): void {
    for (const { stream, id } of replaced.all())
      report(`an older copy has replaced the row ${id} of ${stream}`)
  }

  return { onWrite, checkReplacedRows }
}

const operationOfPath: Readonly<Record<string, string>> = {
  messages: 'message',
  handled: 'handled',
  notes: 'note',
}

function matchesBody({ operation, payload }: OpenRow, path: string, body: string | null): boolean {
  if (operation !== (operationOfPath[path.split('?')[0]?.split('/').at(-1) ?? ''] ?? 'visitor'))
    return false
  const { content } = JSON.parse(payload) as { readonly content?: string }
  return (
    content === undefined || Object.values(JSON.parse(body ?? '{}') as object).includes(content)
  )
}
