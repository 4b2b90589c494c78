/** A process that takes a job, reports it, and never ends it, until it is killed. */
import { openBackend } from '../../jobs/backends/open-backend.ts'
import { createLog } from '../../src/log.ts'

const [, , url = '', prefix = '', queue = ''] = process.argv
const log = createLog({
  level: 'error',
  pretty: true,
  secrets: [],
  write: (line) => process.stderr.write(line),
})
const backend = await openBackend(url, { prefix, log })
backend.worker(
  queue,
  () => {
    process.stdout.write('started\n')
    return new Promise(() => {})
  },
  { lockMs: 300 },
)
