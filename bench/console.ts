/**
 * The console over a mirror of 1,000,000 messages in 125,000 conversations with 50,000 write-backs:
 * how long the server takes for each page, cold and warm, and whether the process keeps its beat
 * meanwhile. `-- sqlite` or `-- postgres` runs one of them; a number behind it is that of other
 * conversations. Times are those of whole requests on loopback, compression included.
 */
import { startPostgres } from '../test/support/postgres-server.ts'
import { fillMirror } from './console/mirror.ts'
import { measurePages } from './console/pages.ts'
import { createSchema } from './create-schema.ts'
import { withTempFolder } from './temp-folder.ts'

const [wanted = 'both', conversations = '125000'] = process.argv.slice(2)

await withTempFolder(async (folder) => {
  if (wanted !== 'postgres') await measure('SQLite', `sqlite:${folder}/console.db`)
  if (wanted === 'sqlite') return
  const postgres = await startPostgres()
  try {
    await measure('Postgres', await createSchema(postgres.url, 'console'))
  } finally {
    await postgres.stop()
  }
})

async function measure(name: string, url: string): Promise<void> {
  process.stdout.write(`${name}\n`)
  await fillMirror(url, Number(conversations))
  await measurePages(url)
}
