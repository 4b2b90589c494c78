/**
 * Local work alone: parses, checks and stores the bodies of pages, compared with better-sqlite3 inserting the same rows
 * into the same table with the same indexes. Goal: at least half as fast.
 */
import Database from 'better-sqlite3'
import { createBodyReader } from '../src/api/body.ts'
import { classifyExchange } from '../src/api/classify.ts'
import type { Json } from '../src/core/row.ts'
import { conversations } from '../src/streams/list-streams.ts'
import { messages } from '../src/streams/messages.ts'
import { openWarehouse } from '../src/warehouse/open.ts'
import { median, printFigure } from './figures.ts'
import { messagesEach, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

/** As many conversations as one page of their list holds. */
const pages = 200
const runs = 9

const request = { method: 'GET', path: '/', priority: 'backfill' } as const
const context = { request, requestedAt: 0, receivedAt: 0, defaultRetryAfterMs: 60_000, redact: (text: string) => text }

type Page = { readonly parent: string; readonly body: Buffer }

await withTempFolder(async (folder) => {
  const { project, list, read } = await readPages()
  const rows = read.length * messagesEach
  const ours: number[] = []
  const bare: number[] = []
  const ratios: number[] = []
  for (let n = 0; n < runs; n++) {
    const file = `${folder}/${n}.db`
    const oursRate = rows / (await mirrorPages(file, project, list, read))
    const bareRate = rows / insertBare(file, `${folder}/${n}-bare.db`)
    ours.push(oursRate)
    bare.push(bareRate)
    ratios.push(oursRate / bareRate)
  }
  printFigure('pages parsed, checked and mirrored', median(ours), 'rows/s')
  printFigure('better-sqlite3 alone', median(bare), 'rows/s')
  printFigure('median ratio of a run', median(ratios), 'times', 'goal: at least 0.5')
})

/** Bodies as the service sends them: the list of conversations, and the messages of each. */
async function readPages(): Promise<{ project: string; list: readonly Json[]; read: readonly Page[] }> {
  const { environment, stop } = await startSandboxProcess(pages)
  const { DESKMIRROR_BASE_URL: base, DESKMIRROR_PROJECT_ID: project = '', DESKMIRROR_API_KEY: key = '' } = environment
  const get = async (path: string) =>
    Buffer.from(await (await fetch(base + path, { headers: { 'x-api-key': key } })).arrayBuffer())
  const list = await itemsOf(await get(`/public/projects/${project}/conversations?limit=200`))
  const read: Page[] = []
  for (const item of list) {
    const parent = (item as { readonly id: string }).id
    read.push({ parent, body: await get(`/public/conversations/${parent}/messages?limit=200`) })
  }
  await stop()
  return { project, list, read }
}

async function itemsOf(bytes: Buffer): Promise<readonly Json[]> {
  const reader = createBodyReader(null, bytes.length)
  reader.write(bytes)
  const body = await reader.end()
  if (!body.ok) throw new Error(body.why)
  const outcome = classifyExchange(
    { kind: 'complete', head: { status: 200, headers: {} }, body: body.splitBody },
    context,
  )
  if (!outcome.ok) throw new Error('the page is not readable')
  return (outcome.response.data as { readonly items: readonly Json[] }).items
}

/** Seconds for all pages, with one commit per page. */
async function mirrorPages(
  file: string,
  project: string,
  list: readonly Json[],
  read: readonly Page[],
): Promise<number> {
  const warehouse = await openWarehouse(`sqlite:${file}`)
  const { commit } = warehouse.mirror(project)
  await commit({ stream: 'conversations', rows: conversations.parseRows(list, project).rows, requestedAt: Date.now() })
  const began = performance.now()
  for (const { parent, body } of read) {
    const { rows } = messages.parseRows(await itemsOf(body), parent)
    const end = { parentId: parent, requestedVersion: 1, cursor: null, completeness: 'complete', dueAt: null } as const
    await commit({ stream: 'messages', rows, requestedAt: Date.now(), childRead: { stream: 'messages', ...end } })
  }
  const seconds = (performance.now() - began) / 1000
  await warehouse.close()
  return seconds
}

/** Seconds for the rows that were mirrored into `from`, page by page. */
function insertBare(from: string, to: string): number {
  const source = new Database(from, { readonly: true })
  const made = source.prepare("select sql from sqlite_master where tbl_name = 'messages' and sql is not null")
  const rows = source.prepare('select * from messages order by rowid').raw().all() as unknown[][]
  const texts = made.pluck().all() as string[]
  source.close()
  const database = new Database(to)
  database.pragma('journal_mode = wal')
  database.pragma('synchronous = normal')
  for (const text of texts) database.exec(text)
  const statement = database.prepare(`insert into messages values (${rows[0]?.map(() => '?').join()})`)
  const page = database.transaction((some: readonly unknown[][]) => {
    for (const row of some) statement.run(row)
  })
  const began = performance.now()
  for (let i = 0; i < rows.length; i += messagesEach) page(rows.slice(i, i + messagesEach))
  const seconds = (performance.now() - began) / 1000
  database.close()
  return seconds
}
