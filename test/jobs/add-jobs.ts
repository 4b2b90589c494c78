/** A process that adds jobs to a queue, a call for each, reports that, and waits to be killed. */
import { openBackend } from '../../jobs/backends/backend.ts'
import { createLog } from '../../src/log.ts'

const [, , url = '', folder = '', prefix = '', name = '', ...ids] = process.argv
const log = createLog({ level: 'error', pretty: true, secrets: [], write: (line) => process.stderr.write(line) })
const backend = await openBackend(url, { folder, prefix, log })
const queue = backend.queue<{ readonly name: string }>(name)
for (const id of ids) await queue.addBulk([{ name: 'job', data: { name: id }, opts: { deduplication: { id } } }])
process.stdout.write('started\n')
