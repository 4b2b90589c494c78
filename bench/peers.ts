/**
 * The same pages of messages into SQLite and Postgres: by us, by code that one writes by hand, and
 * by a program of the same kind for another service. The others are installed into a temporary
 * folder, so that none is a dependency. Every run of one is between runs of the others; the ratios
 * are medians of the runs' own.
 */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres-server.ts'
import { createSchema } from './create-schema.ts'
import { median, printFigure } from './figures.ts'
import { mirrorPages } from './peers/mirror-pages.ts'
import { copyWithPg, insertWithPg, insertWithSqlite } from './peers/obvious-code.ts'
import { type Pages, readPages } from './peers/pages.ts'
import { type StripeSyncEngine, upsertWithStripeSync } from './peers/stripe-sync.ts'
import { messagesEach } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const packages = ['@supabase/stripe-sync-engine@0.48.5', 'stripe@23.1.0', 'pg-copy-streams@7.0.0']
const runs = 7

await withTempFolder(async (folder) => {
  execFileSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages], {
    stdio: 'ignore',
  })
  const require = createRequire(join(folder, 'package.json'))
  const { from } = require('pg-copy-streams')
  const engine = (await import(
    pathToFileURL(require.resolve('@supabase/stripe-sync-engine')).href
  )) as StripeSyncEngine
  const read = withoutNul(await readPages(200))
  const rows = read.pages.length * messagesEach
  const server = await startPostgres()
  const contenders: Readonly<Record<string, (n: number) => Promise<number> | number>> = {
    'deskmirror, SQLite': (n) => mirrorPages(`sqlite:${folder}/${n}.db`, read, 16),
    'better-sqlite3 by hand': (n) => insertWithSqlite(Sqlite, `${folder}/${n}-bare.db`, read.pages),
    'deskmirror, Postgres': async (n) =>
      mirrorPages(await createSchema(server.url, `peers_${n}`), read, 16),
    'pg by hand, COPY without a conflict': () => copyWithPg(pg, from, server.url, read.pages),
    'pg by hand, upserts': () => insertWithPg(pg, server.url, read.pages),
    '@supabase/stripe-sync-engine': () => upsertWithStripeSync(engine, server.url, read.pages),
  }
  const rates = new Map<string, number[]>()
  try {
    for (let n = 0; n < runs; n += 1)
      for (const [name, run] of Object.entries(contenders))
        rates.set(name, [...(rates.get(name) ?? []), rows / (await run(n))])
  } finally {
    await server.stop()
  }
  for (const [name, found] of rates) printFigure(name, median(found), 'rows/s')
  const compare = (ours: string, theirs: string, goal?: string) => {
    const others = rates.get(theirs) ?? []
    const ratios = (rates.get(ours) ?? []).map((rate, n) => rate / (others[n] ?? 1))
    printFigure(`${ours} / ${theirs}`, median(ratios), 'times', goal)
  }
  compare('deskmirror, SQLite', 'better-sqlite3 by hand')
  compare('deskmirror, Postgres', 'pg by hand, COPY without a conflict')
  compare('deskmirror, Postgres', 'pg by hand, upserts')
  compare('deskmirror, Postgres', '@supabase/stripe-sync-engine', 'goal: at least 5')
})

/** Only we can store a NUL in Postgres. */
function withoutNul(read: Pages): Pages {
  const pages = read.pages.map(({ parent, body }) => ({
    parent,
    body: Buffer.from(body.toString().replaceAll('\\u0000', ' ')),
  }))
  return { ...read, pages }
}
