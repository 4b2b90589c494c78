/**
 * Local work alone: parses, checks and stores the bodies of pages, compared with better-sqlite3
 * inserting the same rows into the same table with the same indexes. Goal: at least half as fast.
 */
import Database from 'better-sqlite3'
import { median, printFigure } from './figures.ts'
import { mirrorPages } from './peers/mirror-pages.ts'
import { readPages } from './peers/pages.ts'
import { messagesEach } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

/** As many conversations as one page of their list holds. */
const pages = 200
const runs = 9

await withTempFolder(async (folder) => {
  const read = await readPages(pages)
  const rows = read.pages.length * messagesEach
  const ours: number[] = []
  const bare: number[] = []
  const ratios: number[] = []
  for (let n = 0; n < runs; n++) {
    const file = `${folder}/${n}.db`
    const oursRate = rows / (await mirrorPages(`sqlite:${file}`, read, 1))
    const bareRate = rows / insertBare(file, `${folder}/${n}-bare.db`)
    ours.push(oursRate)
    bare.push(bareRate)
    ratios.push(oursRate / bareRate)
  }
  printFigure('pages parsed, checked and mirrored', median(ours), 'rows/s')
  printFigure('better-sqlite3 alone', median(bare), 'rows/s')
  printFigure('median ratio of a run', median(ratios), 'times', 'goal: at least 0.5')
})

/** Seconds for the rows that were mirrored into `from`, page by page. */
function insertBare(from: string, to: string): number {
  const source = new Database(from, { readonly: true })
  const made = source.prepare(
    "select sql from sqlite_master where tbl_name = 'message_rows' and type <> 'trigger' and sql is not null",
  )
  const rows = source
    .prepare('select * from message_rows order by rowid')
    .raw()
    .all() as unknown[][]
  const texts = made.pluck().all() as string[]
  source.close()
  const database = new Database(to)
  database.pragma('journal_mode = wal')
  database.pragma('synchronous = normal')
  for (const text of texts) database.exec(text)
  const statement = database.prepare(
    `insert into message_rows values (${rows[0]?.map(() => '?').join()})`,
  )
  const page = database.transaction((some: readonly unknown[][]) => {
    for (const row of some) statement.run(row)
  })
  const began = performance.now()
  for (let i = 0; i < rows.length; i += messagesEach) page(rows.slice(i, i + messagesEach))
  const seconds = (performance.now() - began) / 1000
  database.close()
  return seconds
}
