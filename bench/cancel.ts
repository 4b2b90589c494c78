/**
 * Cancelling everything: a million queued write-backs on SQLite and on Postgres, `writeback cancel
 * --all` as users run it, and how long it takes until the last row is cancelled.
 */

import { randomUUID } from 'node:crypto'
import { openWarehouse, type Warehouse } from '../src/app/open.ts'
import { createOutbox } from '../src/outbox/sql/outbox.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runCommand } from './command.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { withTempFolder } from './temp-folder.ts'

const rows = Number(process.argv[2] ?? 1_000_000)
const project = randomUUID()
const service = {
  environment: {
    DESKMIRROR_BASE_URL: 'http://127.0.0.1:9',
    DESKMIRROR_PROJECT_ID: project,
    DESKMIRROR_API_KEY: 'svc_live_bench',
  },
  stop: async () => {},
}

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    for (const [name, url] of [
      ['SQLite', `sqlite:${folder}/queue.db`],
      ['Postgres', await createSchema(postgres.url, 'queue')],
    ] as const) {
      const warehouse = await openWarehouse(url)
      await insertWritebacks(warehouse)
      const { tookMs, peakMb } = await runCommand(['writeback', 'cancel', '--all'], service, url)
      printFigure(
        `${name}: cancel --all of ${rows.toLocaleString('en-US')}`,
        tookMs / 1000,
        's',
        'goal: under 10 s',
      )
      printFigure('  peak of the process', peakMb, 'MB')
      const began = performance.now()
      const outbox = createOutbox(warehouse.projectDb(project))
      while (await outbox.hasPending()) await outbox.findClaimable(Date.now(), 1)
      printFigure(
        '  until the last row is cancelled',
        (performance.now() - began) / 1000,
        's',
        'done by any process that uses the queue',
      )
      await warehouse.close()
    }
  } finally {
    await postgres.stop()
  }
})

/** Inserts by plain SQL, in batches. */
async function insertWritebacks(warehouse: Warehouse): Promise<void> {
  for (let left = rows; left > 0; left -= 1000) {
    const values = Array.from({ length: Math.min(left, 1000) }, () => {
      const payload =
        '{"content": "It left our warehouse this morning, and should be with you by Friday.", "sender_name": "Ann"}'
      return `('${project}', 'message', '${randomUUID()}', '${payload}')`
    })
    await warehouse.query(
      `insert into writebacks (project_id, operation, conversation_id, payload) values ${values.join(', ')}`,
    )
  }
}
