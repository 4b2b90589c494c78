/** `deskmirror start` and `console` where they cannot start. */
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { databases } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { openTestWarehouse } from '../warehouse/test-warehouse.ts'
import { runInProcess } from './run-in-process.ts'
import { runDeskmirror } from './run-process.ts'

test('a console whose port is taken says which option names another, and ends at once', async () => {
  const { database, list } = await openTestWarehouse(databases[1]!)
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const { port } = other.address() as { readonly port: number }
  const connections = 'select count(*) from pg_stat_activity where datname = current_database()'
  const before = await list(connections)
  const args = ['console', database.url!, '--port', String(port), '--no-open']
  const { exit, err } = await runInProcess(args, { cwd: createTempFolder() })
  expect([exit, err]).toEqual([2, expect.stringContaining('name another port with --port')])
  await expect.poll(() => list(connections)).toEqual(before)
})

test('a worker whose address is taken says so, and does not end as if all were well', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const { port } = other.address() as { readonly port: number }
  const env = {
    DESKMIRROR_BASE_URL: 'http://127.0.0.1:1',
    DESKMIRROR_PROJECT_ID: '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f',
    DESKMIRROR_API_KEY: 'svc_live_key',
    DESKMIRROR_HTTP: `127.0.0.1:${port}`,
  }
  const { exit, err } = await runDeskmirror(['start'], { cwd: createTempFolder(), env })
  expect([exit, err]).toEqual([2, expect.stringContaining('another program listens there already')])
})
