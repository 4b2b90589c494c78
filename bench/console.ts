/**
 * The console over a mirror of 1,000,000 messages in 125,000 conversations with 50,000 write-backs:
 * how long the server takes for each page, cold and warm, and whether the process keeps its beat
 * meanwhile. `-- sqlite` or `-- postgres` runs one of them; a number behind it is that of other
 * conversations, one more a delay of Postgres in milliseconds for a round trip. Times are those of whole requests on loopback, compression included.
 */
import { startPostgres } from '../test/support/postgres-server.ts'
import { fillMirror } from './console/mirror.ts'
import { measurePages } from './console/pages.ts'
import { createSchema } from './create-schema.ts'
import { startDelayingProxy } from './delaying-proxy.ts'
import { withTempFolder } from './temp-folder.ts'

const [wanted = 'both', conversations = '125000', delay = '0'] = process.argv.slice(2)

await withTempFolder(async (folder) => {
  if (wanted !== 'postgres') await measure('SQLite', `sqlite:${folder}/console.db`)
  if (wanted === 'sqlite') return
  const postgres = await startPostgres()
  try {
    const proxy = await startDelayingProxy(postgres.url, Number(delay))
    const url = await createSchema(postgres.url, 'console')
    const asked = delay === '0' ? url : url.replace(postgres.url, proxy.url)
    await measure('Postgres', url, asked).finally(proxy.close)
  } finally {
    await postgres.stop()
  }
})

async function measure(name: string, url: string, asked = url): Promise<void> {
  process.stdout.write(`${name}\n`)
  await fillMirror(url, Number(conversations))
  await measurePages(asked)
}
